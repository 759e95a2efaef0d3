#include "query/plan/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "query/plan/evaluate.h"

namespace moraine::query {
namespace {

constexpr std::uint8_t bit(ValueType type) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(type));
}

bool is_exact_integer(double value, ValueType type) {
  if (std::trunc(value) != value) return false;
  if (type == ValueType::kInt64) return value >= -0x1p63 && value < 0x1p63;
  return value >= 0 && value < 0x1p64;
}

// The type that literals alone have together.
ValueType literal_type(std::span<Expression* const> expressions) {
  ValueType widest = ValueType::kNull;
  for (const Expression* e : expressions) {
    // int64 < uint64 < double, as in ValueType.
    widest = std::max(widest, e->type);
  }
  if (widest != ValueType::kUint64) return widest;
  const bool all_fit = std::ranges::all_of(expressions, [](const Expression* e) {
    return e->type == ValueType::kNull || (adapted_types(*e) & bit(ValueType::kUint64)) != 0;
  });
  return all_fit ? widest : ValueType::kDouble;
}

}  // namespace

std::uint8_t adapted_types(const Expression& expression) {
  if (!expression.adapts || !expression.is_literal()) return 0;
  const Value& value = expression.literal;
  switch (value.type()) {
    case ValueType::kInt64:
      return bit(ValueType::kInt64) | bit(ValueType::kDouble) |
             (value.as_int64() >= 0 ? bit(ValueType::kUint64) : std::uint8_t{0});
    case ValueType::kUint64: return bit(ValueType::kUint64) | bit(ValueType::kDouble);
    case ValueType::kDouble: return bit(ValueType::kDouble);
    default: return 0;
  }
}

bool adapt(Expression& expression, ValueType type, bool listed) {
  if (expression.type == type || type == ValueType::kNull) return true;
  if (expression.type == ValueType::kNull) {
    expression.type = type;
    return true;
  }
  if (expression.adapts && listed && expression.type == ValueType::kDouble &&
      (type == ValueType::kInt64 || type == ValueType::kUint64)) {
    const double number = expression.literal.as_double();
    if (!is_exact_integer(number, type)) return false;
    if (type == ValueType::kInt64) {
      expression.literal = static_cast<std::int64_t>(number);
    } else {
      expression.literal = static_cast<std::uint64_t>(number);
    }
    expression.type = type;
    return true;
  }
  if ((adapted_types(expression) & bit(type)) == 0) return false;
  const Value value = expression.literal;
  const bool is_signed = value.type() == ValueType::kInt64;
  if (type == ValueType::kUint64) {
    expression.literal = static_cast<std::uint64_t>(value.as_int64());
  } else {
    expression.literal =
        is_signed ? static_cast<double>(value.as_int64()) : static_cast<double>(value.as_uint64());
  }
  expression.type = type;
  return true;
}

Result<ValueType> unify(std::span<Expression* const> expressions, bool listed) {
  ValueType type = ValueType::kNull;
  for (const Expression* e : expressions) {
    if (!e->adapts && e->type != ValueType::kNull && type == ValueType::kNull) type = e->type;
  }
  if (type == ValueType::kNull) type = literal_type(expressions);
  for (Expression* e : expressions) {
    const ValueType was = e->type;
    if (adapt(*e, type, listed)) continue;
    return fail(Errc::kInvalidArgument, fmt::format("Type mismatch in expression: {} and {}",
                                                    to_string(type), to_string(was)));
  }
  return type;
}

void fold(Expression& expression, table::TextMemory& texts) {
  if (expression.is_literal() || expression.kind == ExpressionKind::kColumn) return;
  const auto& operands = expression.operands;
  if (!std::ranges::all_of(operands, &Expression::is_literal)) return;
  const auto value = evaluate(expression, {}, texts);
  if (!value) return;
  const bool arithmetic =
      expression.kind == ExpressionKind::kUnary || expression.kind == ExpressionKind::kBinary;
  Expression literal = make_literal(*value, expression.type);
  literal.logical = expression.logical;
  literal.adapts =
      arithmetic && !value->is_null() && std::ranges::all_of(operands, &Expression::adapts);
  // What borrows the operands' texts borrows those of the plan.
  expression = std::move(literal);
}

}  // namespace moraine::query
