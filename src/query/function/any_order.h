// The order of values of type any, as bytes.
//
// clang-format off
//   order  = 0x00 (entity) | a key column (table/model/key.h) of any scalar type | list
//   list   = 0x06 { 0x01 order } 0x00
// clang-format on
//
// Promise    Pure. memcmp of the bytes is the order of the values: entity < int64 < uint64 < double
//            < boolean < string < list; lists are compared item by item, a list that begins another
//            is below it. A scalar of its own type has the bytes of the same scalar in a value of
//            type any. Text and binary YSON of one value have the same bytes.
// Limits     At most about twice the bytes of the value.
// Errors     kInvalidArgument: maps and attributes have no order; NaN (`Comparison with NaN`).
// Tests      call_any_test.cpp.
#pragma once

#include <compare>
#include <string>

#include "base/result.h"
#include "moraine/value.h"

namespace moraine::query {

// Requires: not null.
Result<void> append_order(std::string& out, const Value& value);
// As binary YSON, the same for all values of this order.
Result<std::string> canonical_yson(const Value& any);
// Null is below all others.
Result<std::strong_ordering> compare_any(const Value& a, const Value& b);

}  // namespace moraine::query
