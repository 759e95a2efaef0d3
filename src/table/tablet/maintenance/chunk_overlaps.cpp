#include "table/tablet/maintenance/chunk_overlaps.h"

#include <algorithm>
#include <map>

#include "table/tablet/maintenance/compaction_plan.h"

namespace moraine::table {

// Visits chunks in the order of their first keys; those that have begun and not ended overlap the
// next.
std::vector<ChunkOverlaps::Pair> ChunkOverlaps::find_pairs(
    std::span<const ChunkRecord* const> chunks) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < chunks.size(); ++i) {
    // Otherwise none of its rows count.
    if (first_key(*chunks[i]) <= last_key(*chunks[i])) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    ++steps_;
    return first_key(*chunks[a]) < first_key(*chunks[b]);
  });
  std::vector<Pair> pairs;
  const auto before = [this](std::string_view a, std::string_view b) {
    ++steps_;
    return a < b;
  };
  std::multimap<std::string_view, std::uint32_t, decltype(before)> open(before);  // By last key.
  for (const std::uint32_t next : order) {
    const std::string_view first = first_key(*chunks[next]);
    while (!open.empty() && open.begin()->first < first) open.erase(open.begin());
    std::size_t listed = 0;
    for (auto other = open.begin(); other != open.end() && listed < kOverlapsMax; ++other) {
      pairs.emplace_back(next, other->second);
      ++listed;
    }
    steps_ += listed;
    if (listed < open.size()) complete_ = false;
    open.emplace(last_key(*chunks[next]), next);
  }
  return pairs;
}

ChunkOverlaps::ChunkOverlaps(std::span<const ChunkRecord* const> chunks) {
  const std::vector<Pair> pairs = find_pairs(chunks);
  begins_.assign(chunks.size() + 1, 0);
  for (const auto& [a, b] : pairs) {
    ++begins_[a + 1];
    ++begins_[b + 1];
  }
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  others_.resize(2 * pairs.size());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const auto& [a, b] : pairs) {
    others_[next[a]++] = b;
    others_[next[b]++] = a;
  }
}

}  // namespace moraine::table
