#include "table/tablet/read/lookup_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/sync.h"
#include "table/chunk/hot_rows.h"
#include "table/memory/mark_rules.h"
#include "table/model/fold_row.h"
#include "table/model/merge.h"
#include "table/tablet/read/visible_row.h"

namespace moraine::table {

// Memory reused by all lookups of a thread.
struct LookupScratch {
  ReadColumns columns;
  RowBuilder row;
  RowBuilder whole;  // All versions in chunks, for the cache.
  std::vector<const MemoryStore::Row*> memory_rows;
  std::vector<Value> key;
  std::string key_memory;
  std::vector<Value> values;
  TextMemory folded;
  VisibleRow visible;
  std::vector<std::uint32_t> missing;
  std::vector<ChunkReader::Approach> approaches;
};

namespace {

constexpr std::size_t kChunksPrefetchedMax = 4;  // Per key.
constexpr std::size_t kFixedCellWeight = 8;

LookupScratch& scratch_of_thread() {
  thread_local LookupScratch scratch;
  return scratch;
}

std::size_t weight(const Value& value) {
  return value.has_text() ? value.text().size() : kFixedCellWeight;
}

bool last_committed(Timestamp timestamp) {
  return timestamp == kSyncLastCommitted || timestamp == kAsyncLastCommitted;
}

// Ordered by chunk id: ordering by address would differ from run to run.
void drop_repeated(std::vector<MissingBlock>& missing) {
  const auto order = [](const MissingBlock& block) {
    return std::pair(block.chunk->record().id, block.block);
  };
  std::ranges::sort(missing, {}, order);
  const auto repeated = std::ranges::unique(missing, {}, order);
  missing.erase(repeated.begin(), repeated.end());
}

struct BlockLoads {
  std::vector<MissingBlock> missing;
  BlockPins& pins;
  std::size_t next = 0;  // Of `missing`.
  Result<void> outcome;
};

// One of several that load what is left.
Task<void> load_next(BlockLoads& loads) {
  while (loads.next < loads.missing.size() && loads.outcome) {
    const MissingBlock& wanted = loads.missing[loads.next++];
    Result<Slice> bytes = co_await wanted.chunk->load(wanted.block);
    if (bytes) {
      loads.pins.add(wanted.chunk, wanted.block, *std::move(bytes));
    } else if (loads.outcome) {
      loads.outcome = std::unexpected(std::move(bytes).error());
    }
  }
}

}  // namespace

Result<void> check_read_timestamps(Timestamp timestamp, Timestamp retention_timestamp,
                                   Timestamp retained, bool in_transaction) {
  if (!last_committed(timestamp)) {
    if (timestamp < kMinTimestamp || timestamp > kMaxTimestamp) {
      return fail(Errc::kInvalidArgument, fmt::format("Invalid read timestamp {}", timestamp));
    }
    if (timestamp < retained && in_transaction) {
      return fail(Errc::kAborted,
                  fmt::format("the transaction began at {}, and its snapshot was "
                              "compacted away: versions are retained since {}; begin a new one, or "
                              "give the table a longer min_data_ttl",
                              timestamp, retained));
    }
    if (timestamp < retained) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("Timestamp {} is less than tablet retained timestamp {}", timestamp,
                              retained));
    }
  }
  if (retention_timestamp > timestamp) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Retention timestamp {} is greater than read timestamp {}",
                            retention_timestamp, timestamp));
  }
  return {};
}

void BlockPins::add(const std::shared_ptr<const ChunkReader>& chunk, std::uint32_t block,
                    Slice bytes) {
  auto at = std::ranges::find(chunks_, chunk, &OfChunk::chunk);
  if (at == chunks_.end()) at = chunks_.insert(chunks_.end(), OfChunk{chunk, {}});
  at->pins.emplace_back(block, std::move(bytes));
}

std::span<const BlockPins::Pin> BlockPins::of(const ChunkReader* chunk) const {
  for (const OfChunk& entry : chunks_) {
    if (entry.chunk.get() == chunk) return entry.pins;
  }
  return {};
}

Task<Result<void>> load_blocks(std::vector<MissingBlock> missing, BlockPins& pins) {
  drop_repeated(missing);
  const std::size_t tasks = std::min(missing.size(), kBlockLoadsInFlight);
  BlockLoads loads{.missing = std::move(missing), .pins = pins, .outcome = {}};
  TaskScope scope;
  for (std::size_t i = 0; i < tasks; ++i) scope.spawn(load_next(loads));
  co_await scope.join();
  co_return std::move(loads.outcome);
}

bool load_blocks_inline(std::vector<MissingBlock> missing, BlockPins& pins) {
  drop_repeated(missing);
  if (missing.size() > kBlocksInlineMax) return false;
  for (const MissingBlock& block : missing) {
    std::optional<Slice> bytes = block.chunk->load_blocking(block.block);
    if (!bytes) return false;
    pins.add(block.chunk, block.block, *std::move(bytes));
  }
  return true;
}

LookupPass::LookupPass(const TabletView& view, const LookupRequest& request, LookupPaths paths,
                       Rowset& rows, LookupHelp* help, LookupScratch& scratch)
    : view_(&view),
      request_(&request),
      cache_(paths.cache),
      rows_(&rows),
      help_(help),
      scratch_(&scratch),
      spec_{.timestamp = request.timestamp,
            .all_versions = false,
            .columns = scratch.columns.wanted(),
            .may_fold = request.retention_timestamp == kNullTimestamp,
            .use_key_filter = paths.use_key_filter} {}

Result<LookupPass> LookupPass::begin(const TabletView& view, const LookupRequest& request,
                                     LookupPaths paths, Rowset& rows, LookupHelp* help) {
  LookupScratch& scratch = scratch_of_thread();
  if (Result<void> fine = check_read_timestamps(request.timestamp, request.retention_timestamp,
                                                view.retained_timestamp, request.in_transaction);
      !fine) {
    return std::unexpected(std::move(fine).error());
  }
  if (Result<void> known = scratch.columns.prepare(request.columns, *view.schema); !known) {
    return std::unexpected(std::move(known).error());
  }
  if (!view.damaged.empty()) [[unlikely]] {
    for (const std::string_view key : request.keys) {
      const DamagedChunk* met = find_damage(view.damaged, key, request.timestamp);
      if (met != nullptr) return std::unexpected(met->error);
    }
  }
  return LookupPass(view, request, paths, rows, help, scratch);
}

void LookupPass::prefetch(std::size_t first, std::span<const std::uint64_t> hashes) {
  for (const std::uint64_t hash : hashes) {
    for (const std::shared_ptr<MemoryStore>& store : view_->memory) store->prefetch(hash);
    if (cache_ != nullptr) cache_->prefetch(hash);
  }
  if (cache_ != nullptr) return;
  std::vector<ChunkReader::Approach>& approaches = scratch_->approaches;
  approaches.clear();
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const ByteSpan key = as_bytes(request_->keys[first + i]);
    const std::size_t most = approaches.size() + kChunksPrefetchedMax;
    for (const auto& chunk : view_->eden) {
      if (approaches.size() < most) approaches.emplace_back(*chunk, key, hashes[i]);
    }
    for (const auto& chunk : view_->partition_of(key).chunks) {
      if (approaches.size() < most) approaches.emplace_back(*chunk, key, hashes[i]);
    }
  }
  for (int step = 0; step < ChunkReader::Approach::kSteps; ++step) {
    for (ChunkReader::Approach& approach : approaches) approach.step();
  }
}

LookupPass::State LookupPass::read(std::size_t at, std::uint64_t hash) {
  const ByteSpan key = as_bytes(request_->keys[at]);
  if (view_->trimmed && request_->keys[at] < view_->bounds.from) [[unlikely]] {
    sources_ = 0;
    asked_ = 0;
    return answer(at, key);
  }
  if (must_wait(key, hash)) return State::kWaits;
  RowBuilder& row = scratch_->row;
  row.clear();
  sources_ = 0;
  asked_ = static_cast<unsigned>(view_->memory.size());
  decided_of_ = 0;
  for (const MemoryStore::Row* found : scratch_->memory_rows) {
    if (MemoryStore::read(*found, spec_, row)) ++sources_;
  }
  const bool complete =
      cache_ != nullptr ? read_through_cache(key, hash) : read_chunks(key, hash, spec_, row);
  if (!complete) return State::kNeedsData;
  if (!row.folded.empty() && sources_ > 1 && folds_overlap(row.row())) [[unlikely]] {
    spec_.may_fold = false;
    const State state = read(at, hash);
    spec_.may_fold = true;
    return state;
  }
  return answer(at, key);
}

// Leaves the key's rows of memory stores in the scratch memory, newest store first.
bool LookupPass::must_wait(ByteSpan key, std::uint64_t hash) {
  std::vector<const MemoryStore::Row*>& found = scratch_->memory_rows;
  found.clear();
  if (concerns(view_->append, request_->timestamp)) [[unlikely]]
    return true;
  for (auto store = view_->memory.rbegin(); store != view_->memory.rend(); ++store) {
    const MemoryStore::Row* row = (*store)->find(key, hash);
    if (row == nullptr) continue;
    if (concerns(MemoryStore::prepared(*row), request_->timestamp)) return true;
    found.push_back(row);
  }
  if (found.size() > 1) std::ranges::reverse(found);
  return false;
}

bool LookupPass::read_chunks(ByteSpan key, std::uint64_t hash, const ReadSpec& spec,
                             RowBuilder& out) {
  bool complete = true;
  for (const std::shared_ptr<ChunkReader>& chunk : view_->eden) {
    complete = read_chunk(chunk, key, hash, spec, out) && complete;
  }
  for (const std::shared_ptr<ChunkReader>& chunk : view_->partition_of(key).chunks) {
    complete = read_chunk(chunk, key, hash, spec, out) && complete;
  }
  return complete;
}

bool LookupPass::read_chunk(const std::shared_ptr<ChunkReader>& chunk, ByteSpan key,
                            std::uint64_t hash, const ReadSpec& spec, RowBuilder& out) {
  if (!may_matter(*chunk, spec, out)) return true;
  std::vector<std::uint32_t>& missing = scratch_->missing;
  missing.clear();
  std::span<const BlockPins::Pin> pins;
  if (help_ != nullptr) pins = help_->pins.of(chunk.get());
  switch (chunk->lookup(key, hash, spec, out, missing, pins)) {
    case ChunkReader::Found::kNo: ++asked_; return true;
    case ChunkReader::Found::kYes:
      ++asked_;
      ++sources_;
      return true;
    case ChunkReader::Found::kNeedsBlocks: break;
  }
  if (help_ != nullptr) {
    for (const std::uint32_t block : missing) help_->missing.push_back({chunk, block});
  }
  return false;
}

// A chunk all of whose versions are older than what determines every wanted column need not be
// read: a full value hides what is below it, and a delete hides everything below.
bool LookupPass::may_matter(const ChunkReader& chunk, const ReadSpec& spec,
                            const RowBuilder& found) {
  const ChunkStatistics& statistics = chunk.record().statistics;
  if (statistics.min_timestamp > spec.timestamp) return false;
  if (spec.all_versions) return true;
  if (statistics.max_timestamp < request_->retention_timestamp) return false;
  if (sources_ == 0) return true;
  if (decided_of_ != sources_) {
    decided_of_ = sources_;
    Timestamp least = kMaxTimestamp;
    for (const ColumnIndex column : scratch_->columns.values) {
      Timestamp newest = 0;
      for (const VersionedValue& value : found.values) {
        if (value.column == column && !value.aggregate) newest = std::max(newest, value.timestamp);
      }
      // Versions between folded parts matter.
      for (const FoldedRange& range : found.folded) {
        if (range.column == column) newest = std::min(newest, range.oldest);
      }
      least = std::min(least, newest);
      if (least == 0) break;
    }
    if (scratch_->columns.values.empty()) {
      least = found.write_timestamps.empty() ? 0 : std::ranges::max(found.write_timestamps);
    }
    decided_ = found.delete_timestamps.empty()
                   ? least
                   : std::max(least, std::ranges::max(found.delete_timestamps));
  }
  return statistics.max_timestamp >= decided_;
}

// Does the lookup read at or above the newest timestamp of every chunk that may have the key? Then
// chunks keep rows with many versions (HotRows).
bool LookupPass::sees_all(ByteSpan key) const {
  const auto seen = [&](const auto& chunk) {
    return chunk->record().statistics.max_timestamp <= spec_.timestamp;
  };
  return spec_.may_fold && std::ranges::all_of(view_->eden, seen) &&
         std::ranges::all_of(view_->partition_of(key).chunks, seen);
}

// Is the row kept by a chunk rather than by the cache?
bool LookupPass::has_hot(ByteSpan key, std::uint64_t hash) const {
  const auto remembers = [&](const auto& chunk) { return chunk->has_hot(key, hash); };
  return spec_.may_fold && (std::ranges::any_of(view_->eden, remembers) ||
                            std::ranges::any_of(view_->partition_of(key).chunks, remembers));
}

// The cached row replaces all chunks. An uncached row is read with all versions, and cached.
bool LookupPass::read_through_cache(ByteSpan key, std::uint64_t hash) {
  RowBuilder& row = scratch_->row;
  const std::size_t before = row.write_timestamps.size() + row.delete_timestamps.size();
  const auto look = help_ == nullptr ? RowCache::Look::kFirst : RowCache::Look::kAgain;
  if (cache_->find(key, hash, spec_, row, look, view_->flush_revision)) {
    ++asked_;
    if (row.write_timestamps.size() + row.delete_timestamps.size() != before) ++sources_;
    return true;
  }
  if (has_hot(key, hash)) return read_chunks(key, hash, spec_, row);
  const unsigned in_memory = std::exchange(sources_, 0);
  RowBuilder& whole = scratch_->whole;
  whole.clear();
  const ReadSpec everything{.all_versions = true, .use_key_filter = spec_.use_key_filter};
  if (!read_chunks(key, hash, everything, whole)) return false;
  const unsigned in_chunks = std::exchange(sources_, in_memory);
  if (in_chunks == 0) return true;
  // What its chunks keep is shorter than all versions of a long row.
  const bool is_long = whole.values.size() > kHotRowValues;
  if (is_long) {
    if (!read_chunks(key, hash, spec_, row)) return false;
    if (!sees_all(key) || has_hot(key, hash)) return true;
  }
  whole.key = key;
  if (in_chunks > 1) order_row(whole);
  cache_->insert(whole.row(), hash, view_->flush_revision);
  if (is_long) return true;
  sources_ += in_chunks;
  row.values.insert(row.values.end(), whole.values.begin(), whole.values.end());
  row.write_timestamps.insert(row.write_timestamps.end(), whole.write_timestamps.begin(),
                              whole.write_timestamps.end());
  row.delete_timestamps.insert(row.delete_timestamps.end(), whole.delete_timestamps.begin(),
                               whole.delete_timestamps.end());
  return true;
}

// A long row that is read twice is counted once.
void LookupPass::count_unmerged(ByteSpan key) {
  unmerged_rows_ += sources_;
  unmerged_missing_rows_ += asked_ > sources_ ? asked_ - sources_ : 0;
  unmerged_data_weight_ += key.size() * sources_;
  for (const VersionedValue& value : scratch_->row.values) {
    unmerged_data_weight_ += weight(value.value);
  }
}

LookupPass::State LookupPass::answer(std::size_t at, ByteSpan key) {
  count_unmerged(key);
  if (sources_ == 0) {
    ++missing_rows_;
    return State::kDone;
  }
  const ReadColumns& columns = scratch_->columns;
  RowBuilder& row = scratch_->row;
  if (sources_ > 1) order_row(row);
  Value* values = nullptr;
  if (columns.adjacent) {
    values = rows_->cells(at) + (columns.value_at.empty() ? 0 : columns.value_at.front());
  } else {
    scratch_->values.resize(columns.values.size());
    values = scratch_->values.data();
  }
  scratch_->folded.clear();
  if (!scratch_->visible.read(row.row(), request_->timestamp, request_->retention_timestamp,
                              *view_->schema, view_->has_any, columns.values, values,
                              scratch_->folded)) {
    std::fill_n(values, columns.values.size(), Value());
    ++missing_rows_;
    return State::kDone;
  }
  if (!scratch_->visible.hunks().empty()) {
    if (help_ == nullptr || !help_->takes_hunks) {
      std::fill_n(values, columns.values.size(), Value());
      return State::kNeedsData;
    }
    take_hunks(at, values);
  }
  fill(at, key, values);
  ++found_rows_;
  return State::kDone;
}

void LookupPass::take_hunks(std::size_t at, Value* values) {
  for (const std::uint32_t index : scratch_->visible.hunks()) {
    Value& value = values[index];
    const ByteSpan bytes = as_bytes(value.text());
    const HunkRef ref = bytes.size() == kHunkRefBytes ? decode_hunk(bytes.data()) : HunkRef{};
    help_->hunks.push_back(
        {.row = at,
         .column = scratch_->columns.value_at[index],
         .any = value.type() == ValueType::kAny,
         .wrap = value.type() != ValueType::kAny && is_any(scratch_->columns.values[index]),
         .ref = ref});
    data_weight_ += ref.size;
    unmerged_data_weight_ += ref.size;
    value = Value();
  }
}

void LookupPass::fill(std::size_t at, ByteSpan key, const Value* values) {
  const ReadColumns& columns = scratch_->columns;
  Value* cells = rows_->cells(at);
  for (std::size_t i = 0; i < columns.values.size(); ++i) {
    cells[columns.value_at[i]] = rows_->keep(values[i]);
    data_weight_ += weight(values[i]);
  }
  if (!columns.keys.empty()) {
    std::vector<Value>& parts = scratch_->key;
    parts.clear();
    const bool decoded = decode_key(key, parts, scratch_->key_memory).has_value();
    for (const ReadColumns::KeyCell& cell : columns.keys) {
      const bool known = decoded && cell.column < parts.size();
      cells[cell.at] = known ? rows_->keep(parts[cell.column]) : Value();
    }
  }
  data_weight_ += key.size();
  rows_->set_exists(at);
}

void LookupPass::count(LookupStatistics::Shard& counters) const {
  counters.add(LookupStatistics::kRows, found_rows_);
  counters.add(LookupStatistics::kMissingRows, missing_rows_);
  counters.add(LookupStatistics::kUnmergedRows, unmerged_rows_);
  counters.add(LookupStatistics::kUnmergedMissingRows, unmerged_missing_rows_);
  counters.add(LookupStatistics::kDataWeight, data_weight_);
  counters.add(LookupStatistics::kUnmergedDataWeight, unmerged_data_weight_);
}

}  // namespace moraine::table
