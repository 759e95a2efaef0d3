// Lookups of all versions of a row.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/sync.h"
#include "table/memory/mark_rules.h"
#include "table/model/merge.h"
#include "table/model/value_check.h"
#include "table/tablet/read/hunk_reader.h"
#include "table/tablet/read/lookup_pass.h"
#include "table/tablet/read/tablet_reader.h"

namespace moraine::table {
namespace {

constexpr std::size_t kVersionRoundsMax = 1'000;

struct VersionsQuery {
  std::string key;
  Timestamp timestamp = 0;
  std::optional<RetentionConfig> retention;
  Timestamp now = 0;  // 0: the newest timestamp of the stores.
};

enum class VersionsState : std::uint8_t { kDone, kWaits, kNeedsData };

std::string_view keep(OwnedVersionedRow& row, std::string_view text) {
  if (text.empty()) return {};
  row.memory.push_back(std::make_unique_for_overwrite<char[]>(text.size()));
  std::memcpy(row.memory.back().get(), text.data(), text.size());
  return {row.memory.back().get(), text.size()};
}

Value with_text(const Value& like, std::string_view text) {
  return like.type() == ValueType::kAny ? Value::any(text) : Value(text);
}

void own(const VersionedRow& row, std::string_view key, OwnedVersionedRow& out) {
  out.key = key;
  out.row.key = as_bytes(keep(out, key));
  out.row.values.assign(row.values.begin(), row.values.end());
  out.row.write_timestamps.assign(row.write_timestamps.begin(), row.write_timestamps.end());
  out.row.delete_timestamps.assign(row.delete_timestamps.begin(), row.delete_timestamps.end());
  for (VersionedValue& value : out.row.values) {
    if (value.value.has_text()) value.value = with_text(value.value, keep(out, value.value.text()));
  }
  out.exists = !out.row.empty();
}

Timestamp newest_timestamp(const TabletView& view) {
  Timestamp newest = kMinTimestamp;
  for (const auto& store : view.memory) newest = std::max(newest, store->max_timestamp());
  for (const auto& chunk : view.eden) {
    newest = std::max(newest, chunk->record().statistics.max_timestamp);
  }
  for (const PartitionView& partition : view.partitions) {
    for (const auto& chunk : partition.chunks) {
      newest = std::max(newest, chunk->record().statistics.max_timestamp);
    }
  }
  return newest;
}

void answer(const TabletView& view, const VersionsQuery& query, const RowBuilder& row,
            OwnedVersionedRow& out) {
  if (!query.retention) {
    own(row.row(), query.key, out);
    return;
  }
  const Timestamp now = query.now != 0 ? query.now : newest_timestamp(view);
  RowBuilder kept;
  TextMemory memory;
  read_retained_versions(row.row(), query.timestamp, nullptr, *view.schema, *query.retention, now,
                         memory, kept);
  own(kept.row(), query.key, out);
}

// Marks first, oldest store first, as in LookupPass.
bool must_wait(const TabletView& view, ByteSpan key, std::uint64_t hash, Timestamp timestamp) {
  if (concerns(view.append, timestamp)) return true;
  for (auto store = view.memory.rbegin(); store != view.memory.rend(); ++store) {
    const MemoryStore::Row* row = (*store)->find(key, hash);
    if (row != nullptr && concerns(MemoryStore::prepared(*row), timestamp)) return true;
  }
  return false;
}

bool read_chunks(std::span<const std::shared_ptr<ChunkReader>> chunks, ByteSpan key,
                 std::uint64_t hash, const ReadSpec& spec, LookupHelp& help, RowBuilder& row) {
  bool complete = true;
  std::vector<std::uint32_t> missing;
  for (const std::shared_ptr<ChunkReader>& chunk : chunks) {
    missing.clear();
    const auto pins = help.pins.of(chunk.get());
    if (chunk->lookup(key, hash, spec, row, missing, pins) != ChunkReader::Found::kNeedsBlocks) {
      continue;
    }
    complete = false;
    for (const std::uint32_t block : missing) help.missing.push_back({chunk, block});
  }
  return complete;
}

Result<VersionsState> read_versions(const ViewHolder& views, const VersionsQuery& query,
                                    LookupHelp& help, OwnedVersionedRow& out) {
  const EpochGuard guard;
  const TabletView& view = views.get();
  if (Result<void> fine =
          check_read_timestamps(query.timestamp, kNullTimestamp, view.retained_timestamp);
      !fine) {
    return std::unexpected(std::move(fine).error());
  }
  if (const DamagedChunk* met = find_damage(view.damaged, query.key, query.timestamp)) {
    return std::unexpected(met->error);
  }
  if (view.trimmed && query.key < view.bounds.from) {
    answer(view, query, RowBuilder(), out);
    return VersionsState::kDone;
  }
  const ByteSpan key = as_bytes(query.key);
  const std::uint64_t hash = key_hash(key);
  if (must_wait(view, key, hash, query.timestamp)) return VersionsState::kWaits;
  const ReadSpec spec{.timestamp = query.timestamp, .all_versions = true, .columns = nullptr};
  RowBuilder row;
  row.key = key;
  for (const std::shared_ptr<MemoryStore>& store : view.memory) {
    const MemoryStore::Row* found = store->find(key, hash);
    if (found != nullptr) MemoryStore::read(*found, spec, row);
  }
  const bool eden = read_chunks(view.eden, key, hash, spec, help, row);
  const bool rest = read_chunks(view.partition_of(key).chunks, key, hash, spec, help, row);
  if (!eden || !rest) return VersionsState::kNeedsData;
  order_row(row);
  answer(view, query, row, out);
  return VersionsState::kDone;
}

Task<Result<void>> resolve_hunks(OwnedVersionedRow& row, BlobReader& blobs,
                                 ChunkReadCounters& counters) {
  std::vector<HunkRef> refs;
  for (const VersionedValue& value : row.row.values) {
    if (!value.hunk) continue;
    const ByteSpan bytes = as_bytes(value.value.text());
    refs.push_back(bytes.size() == kHunkRefBytes ? decode_hunk(bytes.data()) : HunkRef{});
  }
  if (refs.empty()) co_return Result<void>();
  Result<std::vector<Slice>> bytes = co_await read_hunks(refs, blobs, counters);
  if (!bytes) co_return std::unexpected(std::move(bytes).error());
  std::size_t at = 0;
  for (VersionedValue& value : row.row.values) {
    if (!value.hunk) continue;
    value.value = with_text(value.value, keep(row, (*bytes)[at++].text()));
    value.hunk = false;
  }
  co_return Result<void>();
}

// Wraps values written before their column became `any`.
void wrap_scalars(const TabletView& view, OwnedVersionedRow& row) {
  if (!view.has_any) return;
  for (VersionedValue& value : row.row.values) {
    const bool any = view.schema->columns[value.column].type == ColumnType::kAny;
    if (!any || value.value.is_null() || value.value.type() == ValueType::kAny) continue;
    TextMemory memory;
    value.value = Value::any(keep(row, as_any(value.value, memory).text()));
  }
}

}  // namespace

Task<Result<OwnedVersionedRow>> TabletReader::lookup_versions(
    std::string key, Timestamp timestamp, std::optional<RetentionConfig> retention,
    Instant deadline) const {
  co_await hop(executor_);
  const Instant begun = executor_.now();
  statistics_.lookup.add(LookupStatistics::kRequests, 1);
  Result<OwnedVersionedRow> found =
      co_await find_versions(std::move(key), timestamp, std::move(retention), deadline);
  observe(begun);
  co_return found;
}

Task<Result<OwnedVersionedRow>> TabletReader::find_versions(
    std::string key, Timestamp timestamp, std::optional<RetentionConfig> retention,
    Instant deadline) const {
  VersionsQuery query{.key = std::move(key), .timestamp = timestamp, .retention = retention};
  if (timestamp <= kMaxTimestamp) {
    query.now = timestamp;
  } else if (options_.clock) {
    query.now = options_.clock();
  }
  const Instant decided_by = std::min(deadline, executor_.now() + undecided_timeout());
  LookupHelp help;
  OwnedVersionedRow row;
  for (std::size_t round = 0; round < kVersionRoundsMax; ++round) {
    const Result<VersionsState> state = read_versions(views_, query, help, row);
    if (!state) co_return std::unexpected(state.error());
    if (*state == VersionsState::kDone) {
      Result<void> whole =
          co_await resolve_hunks(row, blobs_, statistics_.hunks.of(ReadKind::kLookup));
      if (!whole) co_return std::unexpected(std::move(whole).error());
      const EpochGuard guard;
      wrap_scalars(views_.get(), row);
      co_return std::move(row);
    }
    const Instant now = executor_.now();
    if (now >= deadline) break;
    Result<void> moved;
    if (*state == VersionsState::kNeedsData) {
      moved = co_await load_blocks(std::exchange(help.missing, {}), help.pins);
    } else if (round != 0 && now >= decided_by) {
      break;
    } else {
      statistics_.lookup.add(LookupStatistics::kWaits, 1);
      moved = co_await undecided_.wait_decided(query.key, timestamp, decided_by);
    }
    if (!moved) co_return std::unexpected(std::move(moved).error());
  }
  co_return fail(Errc::kTimeout, "the row is still undecided or unread");
}

}  // namespace moraine::table
