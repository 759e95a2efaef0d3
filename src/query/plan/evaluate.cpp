#include "query/plan/evaluate.h"

#include <cmath>
#include <limits>
#include <optional>

#include "query/function/call.h"

namespace moraine::query {
namespace {

using Values = std::vector<Value>;

constexpr unsigned kShiftMask = 63;

std::unexpected<Error> refuse(std::string_view what) {
  return fail(Errc::kInvalidArgument, std::string(what));
}

Result<Value> divide(Operator op, std::int64_t a, std::int64_t b) {
  if (b == 0) return refuse("Division by zero");
  if (b == -1) {
    if (op == Operator::kModulo) return std::int64_t{0};
    if (a == std::numeric_limits<std::int64_t>::min()) return refuse("Division overflow");
  }
  return op == Operator::kDivide ? a / b : a % b;
}

Result<Value> unsigned_binary(Operator op, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case Operator::kPlus: return a + b;
    case Operator::kMinus: return a - b;
    case Operator::kMultiply: return a * b;
    case Operator::kDivide:
      if (b == 0) return refuse("Division by zero");
      return a / b;
    case Operator::kModulo:
      if (b == 0) return refuse("Division by zero");
      return a % b;
    case Operator::kBitAnd: return a & b;
    case Operator::kBitOr: return a | b;
    case Operator::kBitXor: return a ^ b;
    case Operator::kShiftLeft: return a << (b & kShiftMask);
    default: return a >> (b & kShiftMask);
  }
}

Result<Value> signed_binary(Operator op, std::int64_t a, std::int64_t b) {
  if (op == Operator::kDivide || op == Operator::kModulo) return divide(op, a, b);
  if (op == Operator::kShiftRight) return a >> (static_cast<std::uint64_t>(b) & kShiftMask);
  TRY(const Value bits,
      unsigned_binary(op, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  return static_cast<std::int64_t>(bits.as_uint64());
}

Value double_binary(Operator op, double a, double b) {
  switch (op) {
    case Operator::kPlus: return a + b;
    case Operator::kMinus: return a - b;
    case Operator::kMultiply: return a * b;
    default: return a / b;
  }
}

Value unary(Operator op, const Value& value) {
  if (value.type() == ValueType::kDouble) return -value.as_double();
  if (value.type() == ValueType::kUint64) {
    return op == Operator::kMinus ? 0 - value.as_uint64() : ~value.as_uint64();
  }
  if (op == Operator::kBitNot) return ~value.as_int64();
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value.as_int64()));
}

// How two tuples compare; nullopt: unknown, since a null decides and has no order.
using Order = std::optional<std::strong_ordering>;
// `equality`: only equal or not matters, so that a later difference decides too.
Result<Order> compare_tuples(std::span<const Value> a, std::span<const Value> b, NullRelation nulls,
                             bool equality) {
  bool unknown = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (nulls == NullRelation::kNullGivesNull && (a[i].is_null() || b[i].is_null())) {
      unknown = true;
      if (!equality) break;
      continue;
    }
    TRY(const std::strong_ordering order, order_of(a[i], b[i]));
    if (order != 0) return order;
  }
  if (unknown) return Order();
  return std::strong_ordering::equal;
}

Value relation(Operator op, const Order& order) {
  if (!order) return {};
  switch (op) {
    case Operator::kEqual: return *order == 0;
    case Operator::kNotEqual: return *order != 0;
    case Operator::kLess: return *order < 0;
    case Operator::kLessOrEqual: return *order <= 0;
    case Operator::kGreater: return *order > 0;
    default: return *order >= 0;
  }
}

Value and_of(const Value& a, const Value& b) {
  const bool is_false = (!a.is_null() && !a.as_boolean()) || (!b.is_null() && !b.as_boolean());
  if (is_false) return false;
  return a.is_null() || b.is_null() ? Value() : Value(true);
}

class Evaluator {
 public:
  Evaluator(std::span<const Value> row, table::TextMemory& memory) : row_(row), memory_(memory) {}

  Result<Value> eval(const Expression& e) {
    switch (e.kind) {
      case ExpressionKind::kLiteral: return e.literal;
      case ExpressionKind::kColumn: return row_[e.column];
      case ExpressionKind::kCall: return call(e);
      case ExpressionKind::kUnary: {
        TRY(const Value value, eval(e.operands[0]));
        return value.is_null() ? value : unary(e.op, value);
      }
      case ExpressionKind::kBinary: return binary(e);
      case ExpressionKind::kCompare: return comparison(e);
      case ExpressionKind::kAnd:
      case ExpressionKind::kOr: return logic(e);
      case ExpressionKind::kNot: {
        TRY(const Value value, eval(e.operands[0]));
        return value.is_null() ? value : Value(!value.as_boolean());
      }
      case ExpressionKind::kIn: return in(e);
      case ExpressionKind::kBetween: return between(e);
      case ExpressionKind::kLike: return like_test(e);
      case ExpressionKind::kTransform: return transform(e);
      case ExpressionKind::kCase: return choose(e);
    }
    return refuse("unknown expression");
  }

 private:
  Result<Values> some(const Expression& e, std::size_t first, std::size_t count) {
    Values values;
    for (std::size_t i = first; i < first + count; ++i) {
      TRY(const Value value, eval(e.operands[i]));
      values.push_back(value);
    }
    return values;
  }

  Result<Value> call(const Expression& e) {
    switch (e.function) {
      case Function::kIf: {
        TRY(const Value condition, eval(e.operands[0]));
        if (condition.is_null()) return Value();
        return eval(e.operands[condition.as_boolean() ? 1 : 2]);
      }
      case Function::kIfNull:
      case Function::kCoalesce:
        for (const Expression& operand : e.operands) {
          TRY(const Value value, eval(operand));
          if (!value.is_null()) return value;
        }
        return Value();
      default: break;
    }
    TRY(const Values values, some(e, 0, e.operands.size()));
    if (info_of(e.function).nulls == NullRule::kNullGivesNull) {
      for (const Value& value : values) {
        if (value.is_null()) return Value();
      }
    }
    return call_function(e.function, values, memory_);
  }

  Result<Value> binary(const Expression& e) {
    TRY(const Value left, eval(e.operands[0]));
    TRY(const Value right, eval(e.operands[1]));
    if (left.is_null() || right.is_null()) return Value();
    switch (left.type()) {
      case ValueType::kInt64: return signed_binary(e.op, left.as_int64(), right.as_int64());
      case ValueType::kUint64: return unsigned_binary(e.op, left.as_uint64(), right.as_uint64());
      case ValueType::kDouble: return double_binary(e.op, left.as_double(), right.as_double());
      default: {
        const Value texts[] = {left, right};
        return call_function(Function::kConcat, texts, memory_);
      }
    }
  }

  Result<Value> comparison(const Expression& e) {
    TRY(const Values left, some(e, 0, e.width));
    TRY(const Values right, some(e, e.width, e.width));
    const bool equality = e.op == Operator::kEqual || e.op == Operator::kNotEqual;
    TRY(const Order order, compare_tuples(left, right, e.nulls, equality));
    return relation(e.op, order);
  }

  Result<Value> logic(const Expression& e) {
    const bool decisive = e.kind == ExpressionKind::kOr;
    bool unknown = false;
    for (const Expression& operand : e.operands) {
      TRY(const Value value, eval(operand));
      if (value.is_null()) {
        unknown = true;
      } else if (value.as_boolean() == decisive) {
        return decisive;
      }
    }
    return unknown ? Value() : Value(!decisive);
  }

  Result<Value> in(const Expression& e) {
    TRY(const Values subject, some(e, 0, e.width));
    bool unknown = false;
    for (std::size_t i = e.width; i < e.operands.size(); i += e.width) {
      TRY(const Values item, some(e, i, e.width));
      TRY(const Order order, compare_tuples(subject, item, e.nulls, /*equality=*/true));
      if (!order) unknown = true;
      if (order && *order == 0) return true;
    }
    return unknown ? Value() : Value(false);
  }

  Result<Value> between(const Expression& e) {
    TRY(const Values subject, some(e, 0, e.width));
    const std::span<const Value> all(subject);
    bool unknown = false;
    std::size_t at = e.width;
    for (const BoundSizes& sizes : e.bounds) {
      TRY(const Values lower, some(e, at, sizes.lower));
      TRY(const Values upper, some(e, at + sizes.lower, sizes.upper));
      at += sizes.lower + sizes.upper;
      TRY(const Order above, compare_tuples(all.first(sizes.lower), lower, e.nulls, false));
      TRY(const Order below, compare_tuples(all.first(sizes.upper), upper, e.nulls, false));
      const Value inside = and_of(relation(Operator::kGreaterOrEqual, above),
                                  relation(Operator::kLessOrEqual, below));
      if (inside.is_null()) unknown = true;
      if (!inside.is_null() && inside.as_boolean()) return true;
    }
    return unknown ? Value() : Value(false);
  }

  Result<Value> like_test(const Expression& e) {
    TRY(const Value text, eval(e.operands[0]));
    TRY(const Value pattern, eval(e.operands[1]));
    if (text.is_null() || pattern.is_null()) return Value();
    if (e.op == Operator::kRegexp) {
      TRY(const bool matches, regex_full_match(pattern.text(), text.text()));
      return matches;
    }
    return like(text.text(), pattern.text(), e.escape, e.op == Operator::kIlike);
  }

  Result<Value> transform(const Expression& e) {
    TRY(const Values subject, some(e, 0, e.width));
    const std::size_t items = (e.operands.size() - e.width - 1) / (e.width + 1);
    for (std::size_t i = 0; i < items; ++i) {
      TRY(const Values item, some(e, e.width * (i + 1), e.width));
      TRY(const Order order, compare_tuples(subject, item, e.nulls, /*equality=*/true));
      if (order && *order == 0) return eval(e.operands[e.width * (items + 1) + i]);
    }
    return eval(e.operands.back());
  }

  Result<Value> choose(const Expression& e) {
    Values subject;
    if (e.has_subject) {
      TRY(subject, some(e, 0, 1));
    }
    for (std::size_t i = subject.size(); i + 1 < e.operands.size(); i += 2) {
      TRY(const Values when, some(e, i, 1));
      bool chosen =
          !when[0].is_null() && when[0].type() == ValueType::kBoolean && when[0].as_boolean();
      if (e.has_subject) {
        TRY(const Order order, compare_tuples(subject, when, e.nulls, /*equality=*/true));
        chosen = order && *order == 0;
      }
      if (chosen) return eval(e.operands[i + 1]);
    }
    return eval(e.operands.back());
  }

  const std::span<const Value> row_;
  table::TextMemory& memory_;
};

}  // namespace

Result<std::strong_ordering> order_of(const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->type() == ValueType::kDouble && std::isnan(value->as_double())) {
      return refuse("Comparison with NaN");
    }
  }
  return compare(a, b);
}

Result<Value> evaluate(const Expression& expression, std::span<const Value> row,
                       table::TextMemory& memory) {
  return Evaluator(row, memory).eval(expression);
}

Result<bool> holds(const Expression& predicate, std::span<const Value> row,
                   table::TextMemory& memory) {
  TRY(const Value value, evaluate(predicate, row, memory));
  return !value.is_null() && value.as_boolean();
}

}  // namespace moraine::query
