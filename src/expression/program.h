// ExpressionProgram: a checked expression as a list of typed nodes; operands come before what uses
// them. Internal to expression.h.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "moraine/value.h"

namespace moraine {

enum class ExpressionOp : std::uint8_t {
  kLiteral,
  kColumn,
  kNegate,
  kBitNot,
  kNot,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kFarmHash,
  kToInt64,
  kToUint64,
  kToDouble,
  kToBoolean,
  kIf,
  kIsNull,
  kIfNull,
  kLength,
  kIsPrefix,
  kIsSubstr,
};

struct ExpressionNode {
  ExpressionOp op = ExpressionOp::kLiteral;
  ValueType type = ValueType::kNull;
  Value literal{};
  std::size_t column = 0;
  std::vector<std::uint32_t> operands{};
  std::size_t depth = 1;
};

struct ExpressionProgram {
  std::vector<ExpressionNode> nodes;
  std::uint32_t root = 0;
  std::deque<std::string> texts;  // Of literals.
};

}  // namespace moraine
