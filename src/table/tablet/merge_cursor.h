// merge_cursors: the rows of several cursors as one, in key order.
//
// Promise    Rows of the same key become one (model/merge.h), with what every source knows. It is
//            prepared if a source says so. load() loads whatever the sources need, at once. One
//            source is given back as it is.
// Threading  As RowCursor.
// Limits     kMergeSourcesMax sources.
// Tests      tablet_scan_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "table/model/row_cursor.h"

namespace moraine::table {

inline constexpr std::size_t kMergeSourcesMax = 65'536;

// None: a cursor without rows.
std::unique_ptr<RowCursor> merge_cursors(std::vector<std::unique_ptr<RowCursor>> sources);

}  // namespace moraine::table
