#include "query/ranges/condition.h"

#include <cmath>

#include "query/function/call.h"
#include "query/seeded_bug.h"

namespace moraine::query {
namespace {

constexpr Cut kEnd{.value = {}, .after = true, .end = true};

Cut before(const Value& value) {
  return {.value = value};
}
Cut after(const Value& value) {
  return {.value = value, .after = true};
}

Operator inverted(Operator op) {
  switch (op) {
    case Operator::kEqual: return Operator::kNotEqual;
    case Operator::kNotEqual: return Operator::kEqual;
    case Operator::kLess: return Operator::kGreaterOrEqual;
    case Operator::kLessOrEqual: return Operator::kGreater;
    case Operator::kGreater: return Operator::kLessOrEqual;
    default: return Operator::kLess;
  }
}
// a op b is b mirrored(op) a.
Operator mirrored(Operator op) {
  switch (op) {
    case Operator::kLess: return Operator::kGreater;
    case Operator::kLessOrEqual: return Operator::kGreaterOrEqual;
    case Operator::kGreater: return Operator::kLess;
    case Operator::kGreaterOrEqual: return Operator::kLessOrEqual;
    default: return op;
  }
}
bool fits(std::strong_ordering order, Operator op) {
  switch (op) {
    case Operator::kEqual: return order == 0;
    case Operator::kNotEqual: return order != 0;
    case Operator::kLess: return order < 0;
    case Operator::kLessOrEqual: return order <= 0;
    case Operator::kGreater: return order > 0;
    default: return order >= 0;
  }
}
bool is_nan(const Value& value) {
  return value.type() == ValueType::kDouble && std::isnan(value.as_double());
}

}  // namespace

Condition ConditionReader::all_of(std::vector<Condition> parts) {
  bool exact = true;
  std::vector<KeySet> sets;
  for (Condition& part : parts) {
    exact = exact && part.exact;
    sets.push_back(std::move(part.keys));
  }
  return {.keys = builder_.intersect_all(std::move(sets)), .exact = exact};
}

Condition ConditionReader::any_of(std::vector<Condition> parts) {
  if (parts.size() > 2 && has_bug(SeededBug::kAlternativeDropped)) parts.pop_back();
  bool exact = true;
  std::vector<KeySet> sets;
  for (Condition& part : parts) {
    exact = exact && part.exact;
    sets.push_back(std::move(part.keys));
  }
  return {.keys = builder_.unite_all(std::move(sets)), .exact = exact};
}

std::optional<std::size_t> ConditionReader::key_column(const Expression& e) const {
  if (e.kind != ExpressionKind::kColumn || columns_[e.column] >= key_count_) return std::nullopt;
  return columns_[e.column];
}

Condition ConditionReader::read(const Expression& e, bool wanted) {
  switch (e.kind) {
    case ExpressionKind::kLiteral:
      return constant(!e.literal.is_null() && e.literal.as_boolean() == wanted);
    case ExpressionKind::kColumn: {
      const auto column = key_column(e);
      if (!column) return unknown();
      return compare_column(*column, Operator::kEqual, wanted, NullRelation::kNullIsLeast);
    }
    case ExpressionKind::kNot: return read(e.operands[0], !wanted);
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr: {
      std::vector<Condition> parts;
      for (const Expression& operand : e.operands) parts.push_back(read(operand, wanted));
      const bool all = (e.kind == ExpressionKind::kAnd) == wanted;
      return all ? all_of(std::move(parts)) : any_of(std::move(parts));
    }
    case ExpressionKind::kCompare: {
      const Operands operands(e.operands);
      return tuple(operands.first(e.width), operands.subspan(e.width),
                   wanted ? e.op : inverted(e.op), e.nulls);
    }
    case ExpressionKind::kIn: return in(e, wanted);
    case ExpressionKind::kBetween: return between(e, wanted);
    case ExpressionKind::kCall: return call(e, wanted);
    case ExpressionKind::kLike: return like(e, wanted);
    default: return unknown();
  }
}

Condition ConditionReader::compare_column(std::size_t column, Operator op, const Value& value,
                                          NullRelation nulls) {
  if (is_nan(value)) return unknown();
  Cut least;
  if (nulls == NullRelation::kNullGivesNull) {
    if (value.is_null()) return constant(false);
    least = after(Value());
  }
  if (has_bug(SeededBug::kNullNotLeast) && op != Operator::kEqual) least = after(Value());
  const auto interval = [&](const Cut& from, const Cut& to) {
    return builder_.interval(column, compare(from, least) < 0 ? least : from, to);
  };
  KeySet keys;
  switch (op) {
    case Operator::kEqual: keys = interval(before(value), after(value)); break;
    case Operator::kNotEqual:
      keys = builder_.unite(interval(least, before(value)), interval(after(value), kEnd));
      break;
    case Operator::kLess: keys = interval(least, before(value)); break;
    case Operator::kLessOrEqual: keys = interval(least, after(value)); break;
    case Operator::kGreater: keys = interval(after(value), kEnd); break;
    default: keys = interval(before(value), kEnd); break;
  }
  return {.keys = std::move(keys), .exact = true};
}

Condition ConditionReader::component(const Expression& left, const Expression& right, Operator op,
                                     NullRelation nulls) {
  if (left.is_literal() && right.is_literal()) {
    const bool null = left.literal.is_null() || right.literal.is_null();
    if (is_nan(left.literal) || is_nan(right.literal)) return unknown();
    if (null && nulls == NullRelation::kNullGivesNull) return constant(false);
    return constant(fits(moraine::compare(left.literal, right.literal), op));
  }
  if (left.is_literal()) return component(right, left, mirrored(op), nulls);
  const auto column = key_column(left);
  if (!column || !right.is_literal()) return unknown();
  return compare_column(*column, op, right.literal, nulls);
}

// From the last component to the first: (a, b) < (x, y) is a < x or a = x and b < y.
Condition ConditionReader::tuple(Operands left, Operands right, Operator op, NullRelation nulls) {
  const bool equality = op == Operator::kEqual || op == Operator::kNotEqual;
  if (equality) {
    std::vector<Condition> parts;
    for (std::size_t i = 0; i < left.size(); ++i) {
      parts.push_back(component(left[i], right[i], op, nulls));
    }
    return op == Operator::kEqual ? all_of(std::move(parts)) : any_of(std::move(parts));
  }
  const bool or_equal = op == Operator::kLessOrEqual || op == Operator::kGreaterOrEqual;
  const bool less = op == Operator::kLess || op == Operator::kLessOrEqual;
  const Operator strict = less ? Operator::kLess : Operator::kGreater;
  Condition rest = constant(or_equal && !(less && has_bug(SeededBug::kInclusiveBoundExcluded)));
  if (has_bug(SeededBug::kTupleByParts)) {
    rest = constant(true);
    for (std::size_t i = 0; i < left.size(); ++i) {
      rest = all_of({rest, component(left[i], right[i], op, nulls)});
    }
    return rest;
  }
  for (std::size_t i = left.size(); i-- > 0;) {
    const Condition equal = component(left[i], right[i], Operator::kEqual, nulls);
    rest = any_of({component(left[i], right[i], strict, nulls), all_of({equal, rest})});
  }
  return rest;
}

Condition ConditionReader::in(const Expression& e, bool wanted) {
  const Operands operands(e.operands);
  std::vector<Condition> parts;
  for (std::size_t i = e.width; i < operands.size(); i += e.width) {
    parts.push_back(tuple(operands.first(e.width), operands.subspan(i, e.width),
                          wanted ? Operator::kEqual : Operator::kNotEqual, e.nulls));
  }
  return wanted ? any_of(std::move(parts)) : all_of(std::move(parts));
}

Condition ConditionReader::between(const Expression& e, bool wanted) {
  const Operands operands(e.operands);
  std::vector<Condition> parts;
  std::size_t at = e.width;
  for (const BoundSizes& sizes : e.bounds) {
    const Operands lower = operands.subspan(at, sizes.lower);
    const Operands upper = operands.subspan(at + sizes.lower, sizes.upper);
    at += sizes.lower + sizes.upper;
    const Operands low_part = operands.first(sizes.lower);
    const Operands high_part = operands.first(sizes.upper);
    if (wanted) {
      parts.push_back(all_of({tuple(low_part, lower, Operator::kGreaterOrEqual, e.nulls),
                              tuple(high_part, upper, Operator::kLessOrEqual, e.nulls)}));
    } else {
      parts.push_back(any_of({tuple(low_part, lower, Operator::kLess, e.nulls),
                              tuple(high_part, upper, Operator::kGreater, e.nulls)}));
    }
  }
  return wanted ? any_of(std::move(parts)) : all_of(std::move(parts));
}

Condition ConditionReader::call(const Expression& e, bool wanted) {
  if (e.function == Function::kIsNull) {
    const auto column = key_column(e.operands[0]);
    if (!column) return unknown();
    return compare_column(*column, wanted ? Operator::kEqual : Operator::kNotEqual, Value(),
                          NullRelation::kNullIsLeast);
  }
  if (e.function == Function::kIsPrefix && e.operands[0].is_literal()) {
    const auto column = key_column(e.operands[1]);
    if (!column) return unknown();
    if (e.operands[0].literal.is_null()) return constant(false);
    return prefix(*column, e.operands[0].literal.text(), wanted);
  }
  return unknown();
}

Condition ConditionReader::like(const Expression& e, bool wanted) {
  const auto column = key_column(e.operands[0]);
  const Expression& pattern = e.operands[1];
  if (!column || e.op != Operator::kLike || !pattern.is_literal()) return unknown();
  if (pattern.literal.is_null()) return constant(false);
  if (!wanted && !has_bug(SeededBug::kInexactInverted)) return unknown();
  const std::string start = like_prefix(pattern.literal.text(), e.escape);
  return {.keys = prefix(*column, texts_.keep(start), wanted).keys, .exact = false};
}

Condition ConditionReader::prefix(std::size_t column, std::string_view text, bool wanted) {
  // The least text above all that begin with `text`: its last byte below 0xff is increased.
  std::string next(text);
  while (!next.empty() && static_cast<unsigned char>(next.back()) == 0xff) next.pop_back();
  if (!next.empty()) next.back() = static_cast<char>(static_cast<unsigned char>(next.back()) + 1);
  if (has_bug(SeededBug::kPrefixEndsEarly)) next = text;
  const Cut to = next.empty() ? kEnd : before(texts_.keep(std::move(next)));
  KeySet keys = builder_.interval(column, before(text), to);
  if (!wanted) {
    keys = builder_.unite(builder_.interval(column, after(Value()), before(text)),
                          builder_.interval(column, to, kEnd));
  }
  return {.keys = std::move(keys), .exact = true};
}

}  // namespace moraine::query
