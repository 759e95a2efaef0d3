// Evaluates an expression for one row. Slow and plain: what it returns is right by definition.
//
// Promise    Pure. Operands are evaluated from left to right, and only those that the result needs:
//            AND and OR stop at the operand that decides; if, if_null, coalesce, CASE and TRANSFORM
//            evaluate the result that they return. Integers wrap, except that dividing by zero and
//            INT64_MIN by -1 fails.
// Errors     kInvalidArgument: `Division by zero`, `Division overflow`, `Comparison with NaN`,
//            those of functions (function/call.h).
// Threading  Any thread. Texts of the result borrow the row, the plan or `memory`.
// Tests      evaluate_test.cpp.
#pragma once

#include <span>

#include "base/result.h"
#include "query/plan/expression.h"
#include "table/model/text_memory.h"

namespace moraine::query {

Result<Value> evaluate(const Expression& expression, std::span<const Value> row,
                       table::TextMemory& memory);
// Is the value true? Null is not.
Result<bool> holds(const Expression& predicate, std::span<const Value> row,
                   table::TextMemory& memory);
// The order of two cells that are sorted or grouped: null is least, NaN fails.
Result<std::strong_ordering> order_of(const Value& a, const Value& b);

}  // namespace moraine::query
