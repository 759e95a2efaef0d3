// Scan plan: which stores have rows of the next segment of a key range.
//
// Promise    Pure. Segments follow each other without gaps that have rows, end at the bounds of
//            partitions, and, where only some chunks have the scan format, at the keys where
//            chunks begin and end.
// Tests      tablet_scan_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table/tablet/view.h"

namespace moraine::table {

struct ScanSegment {
  std::string from;
  std::string to;  // Empty: no bound.
  std::vector<std::shared_ptr<ChunkReader>> chunks;
  bool by_columns = false;  // One chunk, of the lookup format, has all the rows.
  bool merged = false;      // By columns as far as chunks of the scan format have them.
  // It could be read by columns except for rows in memory: worth planning again after some rows.
  bool only_memory_hinders = false;
};

struct ScanPlanInput {
  const TabletView& view;
  std::string from;
  std::string to;                         // Empty: no bound.
  std::optional<std::string> memory_key;  // The first row of a memory store at or above `from`.
  const std::function<bool(const ChunkReader&)>& readable_by_columns;
};

// nullopt: nothing left.
std::optional<ScanSegment> next_segment(const ScanPlanInput& input);

// Is bound `a` before `b`? An empty bound is the end of all keys.
inline bool ends_before(const std::string& a, const std::string& b) {
  return !a.empty() && (b.empty() || a < b);
}

}  // namespace moraine::table
