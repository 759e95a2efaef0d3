// ChunkRuns: the chunks of a partition as runs, sets of chunks with disjoint keys.
//
// Promise    Pure. Each chunk, older ones first, is in the first run that it does not overlap.
// Limits     kRunsMax runs; chunks that fit none of them are in none.
// Threading  Plain data.
// Tests      compaction_plan_test.cpp, compaction_plan_random_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "table/tablet/compaction_plan.h"

namespace moraine::table {

inline constexpr std::size_t kRunsMax = 256;

struct Run {
  std::vector<const PlannedChunk*> chunks;
  std::uint64_t bytes = 0;
  std::map<std::string_view, std::string_view> ranges;  // First keys and last ones.

  bool fits(std::string_view first, std::string_view last) const;
};

// Adds the number of comparisons to `steps`: for n chunks in r runs at most n * r * log n.
std::vector<Run> runs_of(const PlannedPartition& partition, std::uint64_t& steps);

}  // namespace moraine::table
