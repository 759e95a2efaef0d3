// Expression: an expression whose names are bound and whose types are known. No dialect has its
// own.
//
// clang-format off
//   kLiteral    literal
//   kColumn     the value of input column `column`
//   kCall       function(operands...)
//   kUnary      op operand                            + is left out
//   kBinary     operand op operand                    arithmetic, bits, ||
//   kCompare    `width` operands op `width` operands  tuples are compared from left to right
//   kAnd, kOr   two operands or more
//   kNot        not operand
//   kIn         `width` operands, then the items of `width` operands each
//   kBetween    `width` operands, then for each pair in `bounds` so many lower and upper values; a
//               bound of fewer values than `width` is compared with so many values of the subject
//   kLike       text, pattern; op says which; `escape`
//   kTransform  `width` operands, n items of `width`, n results, default
//   kCase       [subject], n pairs of condition (or value of the subject) and result, else
// clang-format on
//
// Promise    Plain data. Operands have the types that their operation needs: both sides of an
//            operator have one type, or kNull. A value of type T is a T or null.
// Limits     kPlanDepthMax; kPlanNodesMax in one plan, after aliases are replaced by what they
//            name.
// Threading  Plain data; literals borrow the plan's texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "moraine/value.h"
#include "query/function/functions.h"
#include "query/syntax/tree.h"
#include "table/model/logical_type.h"

namespace moraine::query {

// What a value of type any is made of, where that is known: of columns with a composite type.
using LogicalTypePtr = std::shared_ptr<const table::LogicalType>;

inline constexpr std::size_t kPlanDepthMax = 50;
inline constexpr std::size_t kPlanNodesMax = 500'000;

enum class ExpressionKind : std::uint8_t {
  kLiteral,
  kColumn,
  kCall,
  kUnary,
  kBinary,
  kCompare,
  kAnd,
  kOr,
  kNot,
  kIn,
  kBetween,
  kLike,
  kTransform,
  kCase,
};

// How relations treat null. In both, AND, OR and NOT are three-valued.
enum class NullRelation : std::uint8_t {
  kNullIsLeast,    // Null equals null and is below all values: the result is never null.
  kNullGivesNull,  // As in SQL.
};

struct BoundSizes {
  std::size_t lower = 1;
  std::size_t upper = 1;
  bool operator==(const BoundSizes&) const = default;
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kLiteral;
  ValueType type = ValueType::kNull;
  Operator op = Operator::kNone;
  Function function = Function::kUnsupported;
  NullRelation nulls = NullRelation::kNullIsLeast;
  bool adapts = false;  // A literal as written: may take another type.
  bool has_subject = false;
  char escape = '\\';
  std::size_t depth = 1;
  std::size_t column = 0;
  std::size_t width = 1;
  Value literal{};
  LogicalTypePtr logical{};  // Of type any; null: not known.
  std::vector<BoundSizes> bounds;
  std::vector<Expression> operands;

  bool is_literal() const { return kind == ExpressionKind::kLiteral; }
};

Expression make_literal(Value value, ValueType type);
Expression make_column(std::size_t column, ValueType type);

// Sets used[column] of each column that occurs. Requires: used covers all columns.
void mark_columns(const Expression& expression, std::vector<bool>& used);
// Column c becomes positions[c].
void move_columns(Expression& expression, std::span<const std::size_t> positions);

}  // namespace moraine::query
