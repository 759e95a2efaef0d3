// Expressions of computed key columns.
//
// clang-format off
//   e    = or > and > not > is [not] null > (= != <>) > (< <= > >=) > | > ^ > & > (<< >>) > (+ -)
//          > (* / %) > unary (- + ~) > atom                                       loosest first
//   atom = 5 | 5u | 1.5 | 'text' | "text" | true | %true | false | null | # | column | [column]
//        | `column` | f(e, ...) | (e)
//   f    = farm_hash(e, ...) | int64(e) | uint64(e) | double(e) | boolean(e) | if(e, e, e)
//        | is_null(e) | if_null(e, e) | length(e) | is_prefix(e, e) | is_substr(e, e)
// clang-format on
//
// Promise    Pure; equal columns always give equal values, since they are stored in keys. Both
//            sides of an operator have one type; literals adapt (5 is also uint64 and double).
//            Integers wrap. An operator with a null operand gives null; comparisons take null as
//            less than everything; and, or, not are three-valued.
// Threading  A compiled expression is immutable and shared by its copies.
// Limits     kExpressionBytesMax, kExpressionNodesMax, kExpressionDepthMax. Evaluating allocates
//            nothing.
// Errors     compile: kInvalidArgument. evaluate: kInvalidArgument (division by zero, a double out
//            of range, comparison with NaN).
// Tests      expression_test.cpp, expression_fuzz.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "moraine/schema.h"

namespace moraine {

inline constexpr std::size_t kExpressionBytesMax = std::size_t{16} << 10;
inline constexpr std::size_t kExpressionNodesMax = 1'000;
inline constexpr std::size_t kExpressionDepthMax = 50;

struct ExpressionProgram;

class CompiledExpression {
 public:
  explicit CompiledExpression(std::shared_ptr<const ExpressionProgram> program)
      : program_(std::move(program)) {}

  // kNull: the expression is the literal null.
  ValueType type() const;
  // `columns` by position in the schema: each has the type of its column, or is null. Texts of the
  // result borrow `columns` or the expression.
  Result<Value> evaluate(std::span<const Value> columns) const;

 private:
  std::shared_ptr<const ExpressionProgram> program_;
};

// Names must be those of key columns that are not computed.
Result<CompiledExpression> compile_expression(std::string_view text, const TableSchema& schema);

}  // namespace moraine
