// Evaluates compiled expressions.

#include <cmath>
#include <limits>

#include "expression/expression.h"
#include "expression/farm_hash.h"
#include "expression/program.h"

namespace moraine {
namespace {

using Op = ExpressionOp;

constexpr unsigned kShiftMask = 63;

// After a failure error() returns it and every result is null.
class Evaluator {
 public:
  Evaluator(const ExpressionProgram& program, std::span<const Value> columns)
      : program_(program), columns_(columns) {}

  const char* error() const { return error_; }

  Value eval(std::uint32_t index) {
    const ExpressionNode& node = program_.nodes[index];
    switch (node.op) {
      case Op::kLiteral: return node.literal;
      case Op::kColumn: return columns_[node.column];
      case Op::kFarmHash: return hash(node);
      case Op::kIf: return choose(node);
      case Op::kIsNull: return eval(node.operands[0]).is_null();
      case Op::kIfNull: {
        const Value first = eval(node.operands[0]);
        return first.is_null() ? eval(node.operands[1]) : first;
      }
      case Op::kAnd:
      case Op::kOr: return logic(node);
      case Op::kEqual:
      case Op::kNotEqual:
      case Op::kLess:
      case Op::kLessOrEqual:
      case Op::kGreater:
      case Op::kGreaterOrEqual: return relation(node);
      default: break;
    }
    const Value left = eval(node.operands[0]);
    if (left.is_null()) return {};
    if (node.operands.size() == 1) return unary(node.op, left);
    const Value right = eval(node.operands[1]);
    if (right.is_null()) return {};
    return binary(node.op, left, right);
  }

 private:
  Value refuse(const char* why) {
    if (error_ == nullptr) error_ = why;
    return {};
  }

  Value hash(const ExpressionNode& node) {
    FarmHasher hasher;
    for (const std::uint32_t operand : node.operands) hasher.add(eval(operand));
    return hasher.finish();
  }

  Value choose(const ExpressionNode& node) {
    const Value condition = eval(node.operands[0]);
    if (condition.is_null()) return {};
    return eval(node.operands[condition.as_boolean() ? 1 : 2]);
  }

  Value logic(const ExpressionNode& node) {
    const bool decisive = node.op == Op::kOr;
    const Value left = eval(node.operands[0]);
    if (!left.is_null() && left.as_boolean() == decisive) return decisive;
    const Value right = eval(node.operands[1]);
    if (!right.is_null() && right.as_boolean() == decisive) return decisive;
    return left.is_null() || right.is_null() ? Value() : Value(!decisive);
  }

  static bool is_nan(const Value& value) {
    return value.type() == ValueType::kDouble && std::isnan(value.as_double());
  }

  Value relation(const ExpressionNode& node) {
    const Value left = eval(node.operands[0]);
    const Value right = eval(node.operands[1]);
    if (is_nan(left) || is_nan(right)) return refuse("Comparison with NaN");
    const std::strong_ordering order = compare(left, right);
    switch (node.op) {
      case Op::kEqual: return order == 0;
      case Op::kNotEqual: return order != 0;
      case Op::kLess: return order < 0;
      case Op::kLessOrEqual: return order <= 0;
      case Op::kGreater: return order > 0;
      default: return order >= 0;
    }
  }

  Value unary(Op op, const Value& value) {
    switch (op) {
      case Op::kNot: return !value.as_boolean();
      case Op::kNegate:
        if (value.type() == ValueType::kDouble) return -value.as_double();
        if (value.type() == ValueType::kUint64) return 0 - value.as_uint64();
        return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value.as_int64()));
      case Op::kBitNot:
        if (value.type() == ValueType::kUint64) return ~value.as_uint64();
        return ~value.as_int64();
      case Op::kToInt64: return to_int64(value);
      case Op::kToUint64: return to_uint64(value);
      case Op::kToDouble:
        if (value.type() == ValueType::kInt64) return static_cast<double>(value.as_int64());
        if (value.type() == ValueType::kUint64) return static_cast<double>(value.as_uint64());
        return value;
      case Op::kToBoolean:
        if (value.type() == ValueType::kInt64) return value.as_int64() != 0;
        return value.as_uint64() != 0;
      case Op::kLength: return static_cast<std::int64_t>(value.text().size());
      default: return refuse("unknown operator");
    }
  }

  Value to_int64(const Value& value) {
    if (value.type() == ValueType::kUint64) return static_cast<std::int64_t>(value.as_uint64());
    if (value.type() != ValueType::kDouble) return value;
    if (!(value.as_double() >= -0x1p63 && value.as_double() < 0x1p63)) {
      return refuse("double is out of the range of int64");
    }
    return static_cast<std::int64_t>(value.as_double());
  }

  Value to_uint64(const Value& value) {
    if (value.type() == ValueType::kInt64) return static_cast<std::uint64_t>(value.as_int64());
    if (value.type() != ValueType::kDouble) return value;
    if (!(value.as_double() > -1 && value.as_double() < 0x1p64)) {
      return refuse("double is out of the range of uint64");
    }
    return static_cast<std::uint64_t>(value.as_double());
  }

  Value binary(Op op, const Value& left, const Value& right) {
    switch (left.type()) {
      case ValueType::kInt64: return signed_binary(op, left.as_int64(), right.as_int64());
      case ValueType::kUint64: return unsigned_binary(op, left.as_uint64(), right.as_uint64());
      case ValueType::kDouble: return double_binary(op, left.as_double(), right.as_double());
      case ValueType::kString:
        if (op == Op::kIsPrefix) return right.text().starts_with(left.text());
        return right.text().contains(left.text());
      default: return refuse("unknown operator");
    }
  }

  Value signed_binary(Op op, std::int64_t a, std::int64_t b) {
    if (op == Op::kDivide || op == Op::kModulo) {
      if (b == 0) return refuse("Division by zero");
      if (b == -1) {
        if (op == Op::kModulo) return std::int64_t{0};
        if (a == std::numeric_limits<std::int64_t>::min()) return refuse("Division overflow");
      }
      return op == Op::kDivide ? a / b : a % b;
    }
    if (op == Op::kShiftRight) return a >> (static_cast<std::uint64_t>(b) & kShiftMask);
    const Value result =
        unsigned_binary(op, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    if (result.is_null()) return result;
    return static_cast<std::int64_t>(result.as_uint64());
  }

  Value unsigned_binary(Op op, std::uint64_t a, std::uint64_t b) {
    switch (op) {
      case Op::kAdd: return a + b;
      case Op::kSubtract: return a - b;
      case Op::kMultiply: return a * b;
      case Op::kDivide: return b == 0 ? refuse("Division by zero") : Value(a / b);
      case Op::kModulo: return b == 0 ? refuse("Division by zero") : Value(a % b);
      case Op::kBitAnd: return a & b;
      case Op::kBitOr: return a | b;
      case Op::kBitXor: return a ^ b;
      case Op::kShiftLeft: return a << (b & kShiftMask);
      case Op::kShiftRight: return a >> (b & kShiftMask);
      default: return refuse("unknown operator");
    }
  }

  Value double_binary(Op op, double a, double b) {
    switch (op) {
      case Op::kAdd: return a + b;
      case Op::kSubtract: return a - b;
      case Op::kMultiply: return a * b;
      case Op::kDivide: return a / b;
      default: return refuse("unknown operator");
    }
  }

  const ExpressionProgram& program_;
  const std::span<const Value> columns_;
  const char* error_ = nullptr;
};

}  // namespace

ValueType CompiledExpression::type() const {
  return program_->nodes[program_->root].type;
}

Result<Value> CompiledExpression::evaluate(std::span<const Value> columns) const {
  Evaluator evaluator(*program_, columns);
  const Value value = evaluator.eval(program_->root);
  if (evaluator.error() != nullptr) return fail(Errc::kInvalidArgument, evaluator.error());
  return value;
}

}  // namespace moraine
