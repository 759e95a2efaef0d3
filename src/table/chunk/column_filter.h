// Filters over columns: which rows of a group may and do pass.
//
// Promise    may_pass() is false only when no value within the range matches. select() keeps the
//            rows whose value matches by fits() (column_batch.h).
// Threading  Pure.
// Tests      chunk_column_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "table/chunk/chunk_meta.h"
#include "table/model/column_batch.h"

namespace moraine::table {

bool may_pass(const ColumnFilter& filter, ValueType type, const ColumnRange& range);
// A column that the chunk does not have: null in every row.
inline bool may_pass_null(const ColumnFilter& filter) {
  return filter.op == ColumnFilter::Op::kIsNull;
}

// Rows of `column` by ascending number; removes those that do not match.
void select(const ColumnFilter& filter, const ColumnVector& column,
            std::vector<std::uint32_t>& rows);
// Keeps the given rows of a column, in order.
void gather(ColumnVector& column, const std::vector<std::uint32_t>& rows);
// The value of one row.
Value value_at(const ColumnVector& column, std::size_t row);

}  // namespace moraine::table
