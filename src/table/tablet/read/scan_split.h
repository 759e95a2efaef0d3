// Splits: where a key range is cut so that its parts are read at the same time.
//
// Promise    At most `parts` - 1 keys, ascending, inside the range; the parts have about equal
//            numbers of stored rows, judged by the indexes of the chunks, without I/O. Rows that
//            are only in memory do not count. Fewer keys where there are few blocks.
// Limits     kSplitPointsMax entries of the indexes are looked at.
// Threading  Pure; any thread.
// Tests      scan_split_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "table/tablet/view.h"

namespace moraine::table {

inline constexpr std::size_t kSplitPointsMax = 16'384;

std::vector<std::string> split_range(const TabletView& view, const KeyBounds& bounds,
                                     std::size_t parts);

// A key, and how many rows are below it.
struct RowStart {
  std::string key;  // Empty: where the tablet begins.
  std::uint64_t rows_below = 0;
};
// As TabletReader::place_of_row().
RowStart place_of_row(const TabletView& view, std::uint64_t row);

}  // namespace moraine::table
