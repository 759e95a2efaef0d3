// Merges rows of several stores, and computes what a reader at a timestamp sees of a row.
//
// Promise    Pure. What is visible at T: the row exists when its newest write at or below T is
//            newer than its newest delete at or below T; a column's value is its newest one at or
//            below T and above that delete, with deltas folded from the oldest to the newest. A
//            retention timestamp hides versions below it.
// Threading  Any thread. No memory is allocated except for texts of dict_sum.
// Tests      merge_test.cpp.
#pragma once

#include <span>

#include "moraine/schema.h"
#include "table/model/text_memory.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// Merges the versions of all rows, which have one key; `out` is cleared first. Of versions with the
// same timestamp one is kept. Texts borrow the rows' memory. Requires: rows in order.
void merge_rows(std::span<const VersionedRow> rows, RowBuilder& out);
// Sorts what several stores have added to one builder.
void order_row(RowBuilder& row);

struct VisibleCell {
  Value value;              // Null when there is none.
  Timestamp timestamp = 0;  // Of its newest part; 0 when there is none.
  bool hunk = false;        // The text of `value` is a HunkRef.
};

// False: no such row at `timestamp`, and `out` is unchanged. Otherwise out[i] is the value of
// wanted[i], null when there is none. Fastest with `wanted` in ascending order. Texts borrow the
// row or `memory`. Requires: no hunks among the wanted columns, whose values would be references.
bool read_visible(const VersionedRow& row, Timestamp timestamp, Timestamp retention_timestamp,
                  const TableSchema& schema, std::span<const ColumnIndex> wanted, Value* out,
                  TextMemory& memory);
// The same with timestamps, and with hunks marked.
bool read_visible(const VersionedRow& row, Timestamp timestamp, Timestamp retention_timestamp,
                  const TableSchema& schema, std::span<const ColumnIndex> wanted, VisibleCell* out,
                  TextMemory& memory);

// All versions at or below `timestamp`, of the columns in `columns` (null: all). False: the row has
// no timestamp there. `out` is cleared first.
bool read_versions(const VersionedRow& row, Timestamp timestamp, const ColumnSet* columns,
                   RowBuilder& out);

}  // namespace moraine::table
