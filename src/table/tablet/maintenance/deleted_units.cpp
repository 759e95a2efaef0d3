#include "table/tablet/maintenance/deleted_units.h"

#include <algorithm>

#include "table/tablet/maintenance/dead_space.h"
#include "table/tablet/read/merge_cursor.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::table {
namespace {

constexpr std::size_t kRowsPerTurn = 256;

struct Tombstones {
  ChunkReaders chunks;
  std::uint64_t rows = 0;
  Timestamp first = kMaxTimestamp;
  Timestamp last = 0;
};

Tombstones tombstones_of(const ChunkReaders& chunks) {
  Tombstones tombstones;
  for (const auto& chunk : chunks) {
    const ChunkStatistics& figures = chunk->record().statistics;
    if (!mostly_deletes(figures)) continue;
    tombstones.chunks.push_back(chunk);
    tombstones.rows += figures.rows;
    tombstones.first = std::min(tombstones.first, figures.min_timestamp);
    tombstones.last = std::max(tombstones.last, figures.max_timestamp);
  }
  return tombstones;
}

// Lists deleted keys; on the background executor. nullopt: too many.
Task<Result<std::optional<KeyList>>> list_keys(BuildPlaces places, const ChunkReaders& chunks) {
  ReadSpec everything;
  everything.all_versions = true;
  std::vector<std::unique_ptr<RowCursor>> sources;
  // Inserted into the cache, since they are read again when they are merged.
  for (const auto& chunk : chunks) sources.push_back(chunk->scan({}, everything, true));
  const auto rows = merge_cursors(std::move(sources));
  KeyList keys;
  for (std::size_t steps = 1;; ++steps) {
    if (steps % kRowsPerTurn == 0) {
      if (places.stopping) co_return fail(Errc::kUnavailable, "the tablet is stopping");
      co_await yield(places.background);
    }
    const RowCursor::Step step = rows->next();
    if (step == RowCursor::Step::kEnd) break;
    if (step == RowCursor::Step::kNeedsData) {
      co_await hop(places.lane);
      const auto loaded = co_await rows->load();
      co_await hop(places.background);
      CO_TRY_VOID(loaded);
      continue;
    }
    // A row may be a write without a value, and not deleted at all.
    if (!rows->row().delete_timestamps.empty()) keys.add(rows->row().key);
    if (keys.bytes() > kTombstoneBytesMax) co_return std::nullopt;
  }
  co_return std::move(keys);
}

}  // namespace

Task<Result<std::vector<SkippedUnits>>> find_deleted_units(BuildPlaces places,
                                                           const ChunkReaders& chunks,
                                                           RetentionConfig retention,
                                                           RetentionScope scope) {
  std::vector<SkippedUnits> skipped(chunks.size());
  const Tombstones tombstones = tombstones_of(chunks);
  const auto below = [&](const std::shared_ptr<ChunkReader>& chunk) {
    const ChunkStatistics& figures = chunk->record().statistics;
    if (has_bug(SeededBug::kDeletedUnheard) && !mostly_deletes(figures)) return true;
    return figures.max_timestamp < tombstones.first &&
           deletion_drops(retention, scope, figures.max_timestamp, tombstones.last);
  };
  const bool worth = tombstones.rows > 0 && tombstones.rows <= kTombstonesListedMax &&
                     std::ranges::any_of(chunks, below);
  if (!worth) co_return std::move(skipped);
  co_await hop(places.background);
  const auto keys = co_await list_keys(places, tombstones.chunks);
  for (std::size_t i = 0; i < chunks.size() && keys && *keys; ++i) {
    if (!below(chunks[i])) continue;
    skipped[i] = chunks[i]->units_within(**keys);
    co_await yield(places.background);
  }
  co_await hop(places.lane);
  if (!keys) co_return std::unexpected(keys.error());
  co_return std::move(skipped);
}

}  // namespace moraine::table
