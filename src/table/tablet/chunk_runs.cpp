#include "table/tablet/chunk_runs.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace moraine::table {

bool Run::fits(std::string_view first, std::string_view last) const {
  const auto above = ranges.upper_bound(last);
  return above == ranges.begin() || std::prev(above)->second < first;
}

std::vector<Run> runs_of(const PlannedPartition& partition, std::uint64_t& steps) {
  std::vector<const PlannedChunk*> by_id;
  for (const PlannedChunk& chunk : partition.chunks) by_id.push_back(&chunk);
  std::ranges::sort(by_id, {}, [](const PlannedChunk* chunk) { return chunk->record->id; });
  std::vector<Run> runs;
  for (const PlannedChunk* chunk : by_id) {
    const std::string_view first = first_key(*chunk->record);
    const std::string_view last = last_key(*chunk->record);
    const bool counts = first <= last;  // Otherwise it overlaps nothing.
    auto run = std::ranges::find_if(runs, [&](const Run& other) {
      steps += std::bit_width(other.ranges.size());
      return !counts || other.fits(first, last);
    });
    if (run == runs.end()) {
      if (runs.size() == kRunsMax) continue;
      run = runs.emplace(runs.end());
    }
    run->chunks.push_back(chunk);
    run->bytes += chunk->record->statistics.data_bytes;
    if (counts) run->ranges.emplace(first, last);
  }
  return runs;
}

}  // namespace moraine::table
