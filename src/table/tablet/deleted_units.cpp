#include "table/tablet/deleted_units.h"

#include <algorithm>

#include "table/tablet/dead_space.h"
#include "table/tablet/merge_cursor.h"

namespace moraine::table {
namespace {

constexpr std::size_t kRowsPerTurn = 256;

// Chunks of tombstones, and what they may delete.
struct Sides {
  ChunkReaders tombstones;
  std::uint64_t rows = 0;
  Timestamp first = kMaxTimestamp;
  Timestamp last = 0;
};

Sides tombstones_of(const ChunkReaders& chunks) {
  Sides sides;
  for (const auto& chunk : chunks) {
    const ChunkStatistics& figures = chunk->record().statistics;
    if (!only_deletes(figures)) continue;
    sides.tombstones.push_back(chunk);
    sides.rows += figures.rows;
    sides.first = std::min(sides.first, figures.min_timestamp);
    sides.last = std::max(sides.last, figures.max_timestamp);
  }
  return sides;
}

// nullopt: they are too many.
Task<Result<std::optional<KeyList>>> list_keys(BuildPlaces places, ChunkReaders tombstones) {
  ReadSpec everything;
  everything.all_versions = true;
  std::vector<std::unique_ptr<RowCursor>> sources;
  // Kept in the cache, for they are read again when they are merged.
  for (const auto& chunk : tombstones) sources.push_back(chunk->scan({}, everything, true));
  const auto rows = merge_cursors(std::move(sources));
  KeyList keys;
  co_await hop(places.background);
  for (std::size_t steps = 1;; ++steps) {
    if (steps % kRowsPerTurn == 0) co_await yield(places.background);
    const RowCursor::Step step = rows->next();
    if (step == RowCursor::Step::kRow) keys.add(rows->row().key);
    if (step == RowCursor::Step::kEnd || keys.bytes() > kTombstoneBytesMax) break;
    if (step != RowCursor::Step::kNeedsData) continue;
    co_await hop(places.lane);
    CO_TRY_VOID(co_await rows->load());
    co_await hop(places.background);
  }
  co_await hop(places.lane);
  if (keys.bytes() > kTombstoneBytesMax) co_return std::nullopt;
  co_return std::move(keys);
}

}  // namespace

Task<Result<std::vector<LeftOut>>> find_deleted_units(BuildPlaces places,
                                                      const ChunkReaders& chunks,
                                                      RetentionConfig retention,
                                                      RetentionScope scope, SeededBug bug) {
  std::vector<LeftOut> left_out(chunks.size());
  const Sides sides = tombstones_of(chunks);
  const auto below = [&](const std::shared_ptr<ChunkReader>& chunk) {
    const Timestamp newest = chunk->record().statistics.max_timestamp;
    if (bug == SeededBug::kDeletedUnheard && !only_deletes(chunk->record().statistics)) return true;
    return newest < sides.first && deletion_drops(retention, scope, newest, sides.last);
  };
  const bool worth =
      sides.rows > 0 && sides.rows <= kTombstonesListedMax && std::ranges::any_of(chunks, below);
  if (!worth) co_return std::move(left_out);
  CO_TRY(const std::optional<KeyList> keys, co_await list_keys(places, sides.tombstones));
  for (std::size_t i = 0; i < chunks.size() && keys; ++i) {
    if (below(chunks[i])) left_out[i] = chunks[i]->units_within(*keys);
  }
  co_return std::move(left_out);
}

}  // namespace moraine::table
