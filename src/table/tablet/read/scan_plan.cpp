#include "table/tablet/read/scan_plan.h"

#include <algorithm>

namespace moraine::table {
namespace {

struct Extent {
  std::shared_ptr<ChunkReader> chunk;
  std::string begin;
  std::string end;  // Not empty: the key after the last.
  bool by_columns = false;
  bool mergeable = false;  // And has the scan format.
};

Extent extent_of(const std::shared_ptr<ChunkReader>& chunk, const ScanPlanInput& input) {
  const ChunkRecord& record = chunk->record();
  Extent extent{.chunk = chunk,
                .begin = std::max(record.statistics.first_key, record.from),
                .end = record.statistics.last_key + '\0',
                .by_columns = input.readable_by_columns(*chunk)};
  if (ends_before(record.to, extent.end)) extent.end = record.to;
  extent.mergeable = extent.by_columns && record.format == OptimizeFor::kScan;
  return extent;
}

// Chunks with rows at or above `from` and below `to`, ordered by their beginnings.
std::vector<Extent> extents(const ScanPlanInput& input, const PartitionView& partition,
                            const std::string& from, const std::string& to) {
  std::vector<Extent> found;
  const auto add = [&](const std::vector<std::shared_ptr<ChunkReader>>& chunks) {
    for (const std::shared_ptr<ChunkReader>& chunk : chunks) {
      Extent extent = extent_of(chunk, input);
      if (extent.end <= from || extent.end <= extent.begin) continue;
      if (!to.empty() && extent.begin >= to) continue;
      found.push_back(std::move(extent));
    }
  };
  add(input.view.eden);
  add(partition.chunks);
  std::ranges::sort(found, {}, &Extent::begin);
  return found;
}

std::string partition_end(const TabletView& view, const PartitionView& partition) {
  const auto next = static_cast<std::size_t>(&partition - view.partitions.data()) + 1;
  return next < view.partitions.size() ? view.partitions[next].from : std::string();
}

void lower(std::string& bound, const std::string& other) {
  if (ends_before(other, bound)) bound = other;
}

ScanSegment whole(std::string from, std::string to, std::vector<Extent>& found, bool merged) {
  ScanSegment segment{.from = std::move(from), .to = std::move(to), .chunks = {}, .merged = merged};
  for (Extent& extent : found) segment.chunks.push_back(std::move(extent.chunk));
  return segment;
}

// Requires: `found` contains a chunk that can be read by columns.
ScanSegment cut(const ScanPlanInput& input, std::vector<Extent>& found, std::string from,
                const std::string& to) {
  const bool memory_before = input.memory_key && (to.empty() || *input.memory_key < to) &&
                             !found.empty() && *input.memory_key < found.front().begin;
  if (found.front().begin > from && !memory_before) from = found.front().begin;
  ScanSegment segment{.from = from, .to = to, .chunks = {}};
  const auto active = static_cast<std::size_t>(
      std::ranges::count_if(found, [&from](const Extent& extent) { return extent.begin <= from; }));
  if (active == 0) {
    segment.to = found.front().begin;
    return segment;
  }
  for (std::size_t i = 0; i < active; ++i) lower(segment.to, found[i].end);
  const auto first_active = std::span(found).first(active);
  segment.merged = std::ranges::any_of(first_active, &Extent::mergeable);
  if (active == 1) {
    if (found.size() > 1) lower(segment.to, found[1].begin);
    segment.by_columns = found.front().by_columns && !segment.merged;
    if (segment.by_columns && input.memory_key) {
      segment.by_columns = *input.memory_key > from;
      segment.only_memory_hinders = !segment.by_columns;
      if (segment.by_columns) lower(segment.to, *input.memory_key);
    }
  }
  for (Extent& extent : found) {
    if (segment.to.empty() || extent.begin < segment.to) segment.chunks.push_back(extent.chunk);
  }
  return segment;
}

}  // namespace

std::optional<ScanSegment> next_segment(const ScanPlanInput& input) {
  std::string from = input.from;
  while (input.to.empty() || from < input.to) {
    const PartitionView& partition = input.view.partition_of(as_bytes(from));
    std::string to = partition_end(input.view, partition);
    lower(to, input.to);
    std::vector<Extent> found = extents(input, partition, from, to);
    if (!found.empty() && std::ranges::all_of(found, &Extent::mergeable)) {
      return whole(std::move(from), std::move(to), found, true);
    }
    if (std::ranges::any_of(found, &Extent::by_columns)) return cut(input, found, from, to);
    const bool memory = input.memory_key && (to.empty() || *input.memory_key < to);
    if (!found.empty() || memory) {
      return whole(std::move(from), std::move(to), found, false);
    }
    if (to.empty()) return std::nullopt;
    from = std::move(to);
  }
  return std::nullopt;
}

}  // namespace moraine::table
