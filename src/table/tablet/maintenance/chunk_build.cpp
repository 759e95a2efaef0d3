#include "table/tablet/maintenance/chunk_build.h"

#include <algorithm>
#include <deque>

#include "base/checksum.h"
#include "table/chunk/hunk.h"
#include "table/tablet/maintenance/blob_puts.h"

namespace moraine::table {
namespace {

constexpr std::size_t kRowsPerTurn = 4'096;      // On an executor of its own.
constexpr std::size_t kRowsPerSharedTurn = 256;  // When requests share the executor.

constexpr std::uint64_t kBytesBetweenLooks = std::uint64_t{1} << 20;

class Build {
 public:
  Build(BuildPlaces places, BuildSpec spec, std::unique_ptr<RowCursor> rows)
      : places_(places),
        spec_(std::move(spec)),
        rows_(std::move(rows)),
        puts_(places.log, spec_.build) {
    if (spec_.retention) rule_.emplace(*spec_.schema, *spec_.retention, spec_.scope);
  }

  Task<Result<BuildOutcome>> run() {
    auto merged = co_await merge();
    co_await hop(places_.lane);
    auto put = co_await puts_.finish();
    if (merged && !put) merged = std::move(put);
    CO_TRY_VOID(std::move(merged));
    for (Pending& pending : pending_) outcome_.chunks.push_back(complete(pending));
    co_return std::move(outcome_);
  }

 private:
  using Place = BlobPuts::Place;
  struct Pending {
    std::vector<Place> data;
    std::vector<Place> hunks;
    Place meta = 0;
    FinishedChunk finished;
  };

  Task<Result<void>> merge() {
    co_await hop(places_.background);
    const std::size_t turn = places_.lane.on_this_thread() ? kRowsPerSharedTurn : kRowsPerTurn;
    for (std::size_t steps = 1;; ++steps) {
      if (steps % turn == 0) {
        if (stopping()) co_return fail(Errc::kUnavailable, "the tablet is stopping");
        co_await yield(places_.background);
      }
      const RowCursor::Step step = rows_->next();
      if (step == RowCursor::Step::kEnd) break;
      if (step == RowCursor::Step::kNeedsData) {
        CO_TRY_VOID(co_await load());
        continue;
      }
      VersionedRow row = rows_->row();
      ++outcome_.rows;
      if (has_unwanted(row)) {
        CO_TRY_VOID(co_await read_hunks(row));
        row.values = inlined_;
      }
      if (spec_.retention) row = retain(row);
      if (row.write_timestamps.empty() && row.delete_timestamps.empty()) continue;
      if (must_cut(row)) {
        CO_TRY_VOID(co_await end_chunk());
      }
      CO_TRY_VOID(write(row));
      if (writer_->bytes() >= looked_at_) {
        CO_TRY_VOID(co_await take_blobs());
      }
    }
    co_return co_await end_chunk();
  }
  bool stopping() const { return places_.stopping.load(std::memory_order_relaxed); }

  Task<Result<void>> load() {
    co_await hop(places_.lane);
    auto loaded = co_await rows_->load();
    co_await hop(places_.background);
    co_return loaded;
  }

  Result<void> write(const VersionedRow& row) {
    if (!writer_) {
      writer_ = std::make_unique<ChunkWriter>(spec_.schema, spec_.options);
      pending_.emplace_back();
      looked_at_ = kBytesBetweenLooks;
    }
    auto added = writer_->add(row);
    if (!added && spec_.refused_key != nullptr) *spec_.refused_key = as_text(row.key);
    return added;
  }

  // The row after retention.
  VersionedRow retain(const VersionedRow& row) {
    rule_->set_oldest_elsewhere(spec_.drops_all_tombstones ? kMaxTimestamp
                                                           : oldest_elsewhere(row.key));
    folded_.clear();
    rule_->apply(row, folded_, kept_);
    const bool whole = kept_.values.size() == row.values.size() &&
                       kept_.write_timestamps.size() == row.write_timestamps.size() &&
                       kept_.delete_timestamps.size() == row.delete_timestamps.size();
    if (!whole) outcome_.dropped = true;
    return kept_.row();
  }
  Timestamp oldest_elsewhere(ByteSpan key) const {
    const std::string_view text = as_text(key);
    Timestamp oldest = kMaxTimestamp;
    for (const OutsideStore& store : spec_.outside) {
      if (text >= store.first && text <= store.last) oldest = std::min(oldest, store.min_timestamp);
    }
    return oldest;
  }

  // Does the row begin a new chunk?
  bool must_cut(const VersionedRow& row) {
    const std::string_view key = as_text(row.key);
    bool cut = false;
    while (next_cut_ < spec_.cuts.size() && spec_.cuts[next_cut_] <= key) {
      ++next_cut_;
      cut = true;
    }
    const bool tombstone = row.write_timestamps.empty();
    if (tombstone == streak_of_tombstones_) {
      ++streak_;
    } else {
      if (streak_ >= kStreakRows && streak_cuts_ < kStreakCutsMax) {
        ++streak_cuts_;
        cut = true;
      }
      streak_of_tombstones_ = tombstone;
      streak_ = 1;
    }
    return cut;
  }

  bool has_unwanted(const VersionedRow& row) const {
    if (spec_.unwanted_hunks.empty()) return false;
    return std::ranges::any_of(row.values, [this](const VersionedValue& value) {
      return value.hunk && spec_.unwanted_hunks.contains(ref(value).blob);
    });
  }
  static HunkRef ref(const VersionedValue& value) {
    return decode_hunk(reinterpret_cast<const std::byte*>(value.value.text().data()));
  }
  // Replaces references to unwanted hunks by their bytes.
  Task<Result<void>> read_hunks(const VersionedRow& row) {
    inlined_.assign(row.values.begin(), row.values.end());
    hunk_memory_.clear();
    co_await hop(places_.lane);
    for (VersionedValue& value : inlined_) {
      if (!value.hunk) continue;
      const HunkRef at = ref(value);
      if (!spec_.unwanted_hunks.contains(at.blob)) continue;
      CO_TRY(Slice bytes, co_await places_.blobs.read(at.blob, at.offset, at.size));
      if (bytes.size() != at.size || crc32c(bytes) != at.checksum) {
        co_return fail(Errc::kCorrupt, "hunk in blob " + at.blob.to_string());
      }
      const std::string_view text = bytes.text();
      value.value = value.value.type() == ValueType::kAny ? Value::any(text) : Value(text);
      value.hunk = false;
      hunk_memory_.push_back(std::move(bytes));
    }
    co_await hop(places_.background);
    co_return Result<void>{};
  }

  Task<Result<void>> take_blobs() {
    if (writer_->bytes() >= kChunkBytesMax) co_return co_await end_chunk();
    looked_at_ = writer_->bytes() + kBytesBetweenLooks;
    while (auto blob = writer_->take_blob()) {
      CO_TRY(const Place place, co_await put(std::move(*blob)));
      pending_.back().data.push_back(place);
    }
    while (auto blob = writer_->take_hunk_blob()) {
      CO_TRY(const Place place, co_await put(std::move(*blob)));
      pending_.back().hunks.push_back(place);
    }
    co_return Result<void>{};
  }
  Task<Result<Place>> put(Slice blob) {
    if (stopping()) co_return fail(Errc::kUnavailable, "the tablet is stopping");
    co_await hop(places_.lane);
    auto place = co_await puts_.put(std::move(blob));
    co_await hop(places_.background);
    co_return place;
  }

  Task<Result<void>> end_chunk() {
    if (!writer_) co_return Result<void>{};
    Pending& pending = pending_.back();
    CO_TRY(pending.finished, writer_->finish());
    writer_.reset();
    for (Slice& blob : pending.finished.blobs) {
      CO_TRY(const Place place, co_await put(std::move(blob)));
      pending.data.push_back(place);
    }
    for (Slice& blob : pending.finished.hunk_blobs) {
      CO_TRY(const Place place, co_await put(std::move(blob)));
      pending.hunks.push_back(place);
    }
    pending.finished.blobs.clear();
    pending.finished.hunk_blobs.clear();
    CO_TRY(pending.meta, co_await put(pending.finished.meta));
    co_return Result<void>{};
  }

  BuiltChunk complete(Pending& pending) {
    BuiltChunk chunk;
    chunk.meta = std::move(pending.finished.meta);
    chunk.record.id = places_.log.next_chunk_id();
    chunk.record.format = spec_.options.format;
    chunk.record.meta = puts_.id(pending.meta);
    for (const Place place : pending.data) chunk.record.data.push_back(puts_.id(place));
    chunk.record.hunks = std::move(pending.finished.hunks);
    for (std::size_t i = 0; i < pending.hunks.size(); ++i) {
      chunk.record.hunks[i].blob = puts_.id(pending.hunks[i]);
    }
    chunk.record.statistics = std::move(pending.finished.statistics);
    chunk.record.created_ms = static_cast<std::uint64_t>(places_.clock.since_epoch().count());
    return chunk;
  }

  const BuildPlaces places_;
  const BuildSpec spec_;
  std::unique_ptr<RowCursor> rows_;
  BlobPuts puts_;
  BuildOutcome outcome_;
  std::deque<Pending> pending_;  // The last one is still being filled.
  std::unique_ptr<ChunkWriter> writer_;
  std::uint64_t looked_at_ = 0;  // The writer's size at the last check for full blobs.
  std::size_t next_cut_ = 0;
  bool streak_of_tombstones_ = false;
  std::size_t streak_ = 0;
  std::size_t streak_cuts_ = 0;
  RowBuilder kept_;
  TextMemory folded_;
  std::optional<RowRetention> rule_;
  std::vector<VersionedValue> inlined_;
  std::vector<Slice> hunk_memory_;
};

}  // namespace

Task<Result<BuildOutcome>> build_chunks(BuildPlaces places, BuildSpec spec,
                                        std::unique_ptr<RowCursor> rows) {
  Build build(places, std::move(spec), std::move(rows));
  co_return co_await build.run();
}

}  // namespace moraine::table
