// Checks and converts values for the columns that they are written to.
//
// Promise    to_cell() returns the value as it is stored: of the column's physical type, within the
//            range of its logical type, texts valid, composite values as composite.h says. Values
//            of `any` columns are checked YSON; scalars given to them are wrapped.
// Errors     kInvalidArgument, naming the column.
// Threading  Pure.
// Tests      value_check_test.cpp.
#pragma once

#include "base/result.h"
#include "moraine/schema.h"
#include "table/model/logical_type.h"
#include "table/model/text_memory.h"

namespace moraine::table {

// Permitted conversions of input.
struct ValueRules {
  bool integral_to_integral = true;  // int64 <-> uint64 when it fits.
  bool integral_to_double = true;    // Where the double is exactly the integer.
  bool string_to_all = false;
  bool all_to_string = false;
  bool null_to_entity = false;  // A null given to an `any` value becomes the YSON entity.
};

// A value within a composite one: of a column type other than any. Errors do not name a column.
Result<Value> to_scalar(ColumnType type, const Value& value, const ValueRules& rules,
                        TextMemory& memory);
// The result borrows `value` or `memory`. Null of a required column is an error.
Result<Value> to_cell(const ColumnSchema& column, const Value& value, const ValueRules& rules,
                      TextMemory& memory);
// The same with the column's type_v3 (stored_part(), logical_type.h); null: it has none.
Result<Value> to_cell(const ColumnSchema& column, const LogicalType* type, const Value& value,
                      const ValueRules& rules, TextMemory& memory);
// A scalar as `any` columns store it: as YSON, in `memory`.
Value as_any(const Value& scalar, TextMemory& memory);

}  // namespace moraine::table
