// Folds deltas of a row before the read that needs their total.
//
// A folded value represents all parts of its column from `oldest` to `newest`. It may be combined
// with values of other stores as long as none of them lies between the parts.
//
// Promise    Pure. After fold_deltas() a column that had several parts has one, with the timestamp
//            of the newest; read_visible() at or above the newest timestamp, without a retention
//            timestamp, returns the same.
// Tests      fold_row_test.cpp.
#pragma once

#include <cstddef>

#include "moraine/schema.h"
#include "table/model/text_memory.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// The row has the versions that determine its values (ReadSpec), in order. Columns with hunks among
// their parts, and those whose total has a text of more than `text_max` bytes, are not changed.
// Texts borrow the row or `memory`.
void fold_deltas(const TableSchema& schema, std::size_t text_max, TextMemory& memory,
                 RowBuilder& row);

// Does a value or a delete of another store lie between parts that were folded? Then the row must
// be read again without folding.
bool folds_overlap(const VersionedRow& row);

}  // namespace moraine::table
