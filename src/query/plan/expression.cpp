#include "query/plan/expression.h"

#include "base/invariant.h"

namespace moraine::query {

Expression make_literal(Value value, ValueType type) {
  Expression expression;
  expression.type = type;
  expression.literal = value;
  return expression;
}

Expression make_column(std::size_t column, ValueType type) {
  Expression expression;
  expression.kind = ExpressionKind::kColumn;
  expression.type = type;
  expression.column = column;
  return expression;
}

void mark_columns(const Expression& expression, std::vector<bool>& used) {
  if (expression.kind == ExpressionKind::kColumn) {
    INVARIANT(expression.column < used.size(), "column {} of {}", expression.column, used.size());
    used[expression.column] = true;
  }
  for (const Expression& operand : expression.operands) mark_columns(operand, used);
}

void move_columns(Expression& expression, std::span<const std::size_t> positions) {
  if (expression.kind == ExpressionKind::kColumn) {
    INVARIANT(expression.column < positions.size(), "column {} of {}", expression.column,
              positions.size());
    expression.column = positions[expression.column];
  }
  for (Expression& operand : expression.operands) move_columns(operand, positions);
}

}  // namespace moraine::query
