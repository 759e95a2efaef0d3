// Builds typed nodes of an expression. Internal to expression.h.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expression/program.h"
#include "moraine/schema.h"

namespace moraine {

// Each call checks the types of its operands, adapts literals and returns the index of a new node.
class ExpressionBuilder {
 public:
  using Index = std::uint32_t;

  explicit ExpressionBuilder(const TableSchema& schema) : schema_(schema) {}

  Result<Index> literal(Value value);
  Result<Index> text_literal(std::string text);
  Result<Index> column(std::string_view name);
  Result<Index> unary(ExpressionOp op, Index operand);
  Result<Index> binary(ExpressionOp op, Index left, Index right);
  Result<Index> call(std::string_view function, std::vector<Index> arguments);

  std::shared_ptr<const ExpressionProgram> finish(Index root);

 private:
  Result<Index> add(ExpressionOp op, ValueType type, std::vector<Index> operands);
  Result<ValueType> unify(Index left, Index right);
  bool adapt(Index operand, ValueType type);
  ValueType type_of(Index index) const { return program_->nodes[index].type; }

  const TableSchema& schema_;
  std::shared_ptr<ExpressionProgram> program_ = std::make_shared<ExpressionProgram>();
};

}  // namespace moraine
