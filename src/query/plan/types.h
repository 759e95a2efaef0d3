// Types of operands: literals adapt, everything else must match.
//
// Promise    A literal 5 may become uint64 or double, 5u double, null anything; where values are
//            listed (IN, BETWEEN, TRANSFORM) also 4.0 an integer, if exact. Other conversions are
//            written as functions.
// Errors     kInvalidArgument `Type mismatch in expression: ...`.
// Threading  Pure.
// Tests      bind_test.cpp.
#pragma once

#include <span>

#include "base/result.h"
#include "query/plan/expression.h"
#include "table/model/text_memory.h"

namespace moraine::query {

// Types that a literal may become, as bits of ArgumentType::adapts_to; 0: it is no literal.
std::uint8_t adapted_types(const Expression& expression);
// False: it cannot become that type.
bool adapt(Expression& expression, ValueType type, bool listed = false);
// Gives all the same type and returns it; kNull: all are the literal null.
Result<ValueType> unify(std::span<Expression* const> expressions, bool listed = false);
// Replaces operations on literals by their result, unless it is an error, which only a row may
// bring to light.
void fold(Expression& expression, table::TextMemory& texts);

}  // namespace moraine::query
