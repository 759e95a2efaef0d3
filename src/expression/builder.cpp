#include "expression/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "expression/expression.h"

namespace moraine {
namespace {

using Op = ExpressionOp;
using Index = ExpressionBuilder::Index;

bool is_integer(ValueType type) {
  return type == ValueType::kInt64 || type == ValueType::kUint64;
}
bool is_number(ValueType type) {
  return is_integer(type) || type == ValueType::kDouble;
}

std::unexpected<Error> refuse(std::string what) {
  return fail(Errc::kInvalidArgument, std::move(what));
}

enum class Takes : std::uint8_t { kScalar, kNumber, kInteger, kBoolean, kString };

bool accepts(Takes takes, ValueType type) {
  if (type == ValueType::kNull) return true;
  switch (takes) {
    case Takes::kScalar: return true;
    case Takes::kNumber: return is_number(type);
    case Takes::kInteger: return is_integer(type);
    case Takes::kBoolean: return type == ValueType::kBoolean;
    case Takes::kString: return type == ValueType::kString;
  }
  return false;
}

// kNull as result: the type of the operands.
struct Function {
  std::string_view name;
  Op op;
  Takes takes;
  std::size_t arguments_min;
  std::size_t arguments_max;
  ValueType result;
};
constexpr Function kFunctions[] = {
    {"farm_hash", Op::kFarmHash, Takes::kScalar, 1, kExpressionNodesMax, ValueType::kUint64},
    {"int64", Op::kToInt64, Takes::kNumber, 1, 1, ValueType::kInt64},
    {"uint64", Op::kToUint64, Takes::kNumber, 1, 1, ValueType::kUint64},
    {"double", Op::kToDouble, Takes::kNumber, 1, 1, ValueType::kDouble},
    {"boolean", Op::kToBoolean, Takes::kInteger, 1, 1, ValueType::kBoolean},
    {"is_null", Op::kIsNull, Takes::kScalar, 1, 1, ValueType::kBoolean},
    {"if_null", Op::kIfNull, Takes::kScalar, 2, 2, ValueType::kNull},
    {"if", Op::kIf, Takes::kScalar, 3, 3, ValueType::kNull},
    {"length", Op::kLength, Takes::kString, 1, 1, ValueType::kInt64},
    {"is_prefix", Op::kIsPrefix, Takes::kString, 2, 2, ValueType::kBoolean},
    {"is_substr", Op::kIsSubstr, Takes::kString, 2, 2, ValueType::kBoolean},
};

Takes operand_of(Op op) {
  switch (op) {
    case Op::kNegate:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide: return Takes::kNumber;
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot: return Takes::kBoolean;
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kLess:
    case Op::kLessOrEqual:
    case Op::kGreater:
    case Op::kGreaterOrEqual: return Takes::kScalar;
    default: return Takes::kInteger;
  }
}

}  // namespace

Result<Index> ExpressionBuilder::add(Op op, ValueType type, std::vector<Index> operands) {
  if (program_->nodes.size() >= kExpressionNodesMax) return refuse("expression is too long");
  ExpressionNode node;
  node.op = op;
  node.type = type;
  for (const Index operand : operands) {
    node.depth = std::max(node.depth, program_->nodes[operand].depth + 1);
  }
  if (node.depth > kExpressionDepthMax) return refuse("expression is nested too deeply");
  node.operands = std::move(operands);
  program_->nodes.push_back(std::move(node));
  return static_cast<Index>(program_->nodes.size() - 1);
}

Result<Index> ExpressionBuilder::literal(Value value) {
  TRY(const Index index, add(Op::kLiteral, value.type(), {}));
  program_->nodes[index].literal = value;
  return index;
}

Result<Index> ExpressionBuilder::text_literal(std::string text) {
  program_->texts.push_back(std::move(text));
  return literal(std::string_view(program_->texts.back()));
}

Result<Index> ExpressionBuilder::column(std::string_view name) {
  const auto found = schema_.find(name);
  if (!found) return refuse(fmt::format("Undefined reference \"{}\"", name));
  const ColumnSchema& column = schema_.columns[*found];
  if (!column.key) return refuse(fmt::format("column \"{}\" is not a key column", name));
  if (!column.expression.empty()) return refuse(fmt::format("column \"{}\" is computed", name));
  if (column.type == ColumnType::kAny) {
    return refuse(fmt::format("column \"{}\" of type any cannot be used", name));
  }
  TRY(const Index index, add(Op::kColumn, physical_type(column.type), {}));
  program_->nodes[index].column = *found;
  return index;
}

bool ExpressionBuilder::adapt(Index operand, ValueType type) {
  ExpressionNode& node = program_->nodes[operand];
  if (node.op != Op::kLiteral) return false;
  if (node.type == ValueType::kNull) return true;
  const Value literal = node.literal;
  if (node.type == ValueType::kInt64 && type == ValueType::kUint64 && literal.as_int64() >= 0) {
    node.literal = static_cast<std::uint64_t>(literal.as_int64());
  } else if (node.type == ValueType::kInt64 && type == ValueType::kDouble) {
    node.literal = static_cast<double>(literal.as_int64());
  } else if (node.type == ValueType::kUint64 && type == ValueType::kDouble) {
    node.literal = static_cast<double>(literal.as_uint64());
  } else {
    return false;
  }
  node.type = type;
  return true;
}

Result<ValueType> ExpressionBuilder::unify(Index left, Index right) {
  const ValueType a = type_of(left);
  const ValueType b = type_of(right);
  if (a == b) return a;
  // A null that is not a literal (`null + null`) takes the type of the other side.
  if (a == ValueType::kNull || adapt(left, b)) return b;
  if (b == ValueType::kNull || adapt(right, a)) return a;
  return refuse(fmt::format("Type mismatch in expression: {} and {}", to_string(a), to_string(b)));
}

Result<Index> ExpressionBuilder::unary(Op op, Index operand) {
  const ValueType type = type_of(operand);
  if (!accepts(operand_of(op), type)) {
    return refuse(
        fmt::format("Type mismatch in expression: an operator has a {} operand", to_string(type)));
  }
  ExpressionNode& node = program_->nodes[operand];
  if (op == Op::kNegate && node.op == Op::kLiteral && type == ValueType::kInt64) {
    node.literal =
        static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(node.literal.as_int64()));
    return operand;
  }
  return add(op, type, {operand});
}

Result<Index> ExpressionBuilder::binary(Op op, Index left, Index right) {
  TRY(const ValueType type, unify(left, right));
  const Takes takes = operand_of(op);
  if (!accepts(takes, type)) {
    return refuse(
        fmt::format("Type mismatch in expression: an operator has {} operands", to_string(type)));
  }
  const bool gives_boolean = takes == Takes::kScalar || takes == Takes::kBoolean;
  return add(op, gives_boolean ? ValueType::kBoolean : type, {left, right});
}

Result<Index> ExpressionBuilder::call(std::string_view name, std::vector<Index> arguments) {
  const auto* function = std::ranges::find(kFunctions, name, &Function::name);
  if (function == std::end(kFunctions)) {
    return refuse(fmt::format("Undefined function \"{}\"", name));
  }
  if (arguments.size() < function->arguments_min || arguments.size() > function->arguments_max) {
    return refuse(
        fmt::format("No matching function \"{}\" of {} arguments", name, arguments.size()));
  }
  for (const Index argument : arguments) {
    if (!accepts(function->takes, type_of(argument))) {
      return refuse(
          fmt::format("No matching function \"{}\" of {}", name, to_string(type_of(argument))));
    }
  }
  ValueType type = function->result;
  if (type == ValueType::kNull) {
    const std::size_t count = arguments.size();
    TRY(type, unify(arguments[count - 2], arguments[count - 1]));
  }
  if (function->op == Op::kIf && !accepts(Takes::kBoolean, type_of(arguments[0]))) {
    return refuse("No matching function \"if\": its condition is not boolean");
  }
  return add(function->op, type, std::move(arguments));
}

std::shared_ptr<const ExpressionProgram> ExpressionBuilder::finish(Index root) {
  program_->root = root;
  return std::move(program_);
}

}  // namespace moraine
