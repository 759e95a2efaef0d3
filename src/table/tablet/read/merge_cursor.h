// merge_cursors: the rows of several cursors as one, in key order.
//
// Promise    Rows of the same key are merged into one (model/merge.h), with the versions of every
//            source. The row is prepared if a source says so. load() loads what all sources need,
//            concurrently. A single source is returned as it is.
// Threading  As RowCursor.
// Limits     kMergeSourcesMax sources.
// Tests      tablet_scan_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "table/model/row_cursor.h"

namespace moraine::table {

inline constexpr std::size_t kMergeSourcesMax = 65'536;

// No sources: a cursor without rows.
std::unique_ptr<RowCursor> merge_cursors(std::vector<std::unique_ptr<RowCursor>> sources);

}  // namespace moraine::table
