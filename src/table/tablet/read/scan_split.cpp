#include "table/tablet/read/scan_split.h"

#include <algorithm>

#include "table/tablet/read/scan_plan.h"

namespace moraine::table {
namespace {

std::vector<const ChunkReader*> chunks_of(const TabletView& view) {
  std::vector<const ChunkReader*> chunks;
  for (const auto& chunk : view.eden) chunks.push_back(chunk.get());
  for (const PartitionView& partition : view.partitions) {
    for (const auto& chunk : partition.chunks) chunks.push_back(chunk.get());
  }
  return chunks;
}

}  // namespace

std::vector<std::string> split_range(const TabletView& view, const KeyBounds& bounds,
                                     std::size_t parts) {
  if (parts < 2) return {};
  KeyBounds range = bounds;
  range.from = std::max(range.from, view.bounds.from);
  if (ends_before(view.bounds.to, range.to)) range.to = view.bounds.to;
  const std::vector<const ChunkReader*> chunks = chunks_of(view);
  if (chunks.empty()) return {};
  const std::size_t points_max = std::max<std::size_t>(1, kSplitPointsMax / chunks.size());
  std::vector<WeighedKey> points;
  for (const ChunkReader* chunk : chunks) {
    chunk->weigh(range, points_max, points);
    if (points.size() > kSplitPointsMax) break;
  }
  std::ranges::sort(points, {}, &WeighedKey::key);
  double total = 0;
  for (const WeighedKey& point : points) total += static_cast<double>(point.rows);
  std::vector<std::string> keys;
  double before = 0;
  for (WeighedKey& point : points) {
    const double wanted = total * static_cast<double>(keys.size() + 1) / static_cast<double>(parts);
    const bool inside = point.key > range.from && (range.to.empty() || point.key < range.to);
    const bool later = keys.empty() || point.key > keys.back();
    before += static_cast<double>(point.rows);
    if (before - static_cast<double>(point.rows) / 2 < wanted || !inside || !later) continue;
    keys.push_back(std::move(point.key));
    if (keys.size() + 1 == parts) break;
  }
  return keys;
}

// Chunks that overlap others, and those of which a part belongs to other tablets, tell nothing of
// what is behind them.
RowStart place_of_row(const TabletView& view, std::uint64_t row) {
  const bool in_memory =
      std::ranges::any_of(view.memory, [](const auto& store) { return store->rows() > 0; });
  RowStart place;
  if (in_memory || !view.damaged.empty()) return place;
  std::vector<const ChunkRecord*> chunks;
  for (const ChunkReader* reader : chunks_of(view)) chunks.push_back(&reader->record());
  std::ranges::sort(chunks, {}, [](const ChunkRecord* chunk) {
    return std::string_view(chunk->statistics.first_key);
  });
  std::uint64_t below = 0;
  const std::string* last = nullptr;
  for (const ChunkRecord* chunk : chunks) {
    const ChunkStatistics& figures = chunk->statistics;
    const bool after = last == nullptr || *last < figures.first_key;
    const bool whole =
        chunk->from <= figures.first_key && (chunk->to.empty() || figures.last_key < chunk->to);
    if (!after || !whole || figures.deletes > 0 || figures.superseded > 0) break;
    if (below > row) break;
    place = {figures.first_key, below};
    below += figures.rows;
    last = &figures.last_key;
  }
  return place.rows_below == 0 ? RowStart() : place;
}

}  // namespace moraine::table
