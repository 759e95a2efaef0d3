// Boots a tablet from its log.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "table/tablet/table_impl.h"

namespace moraine::table {
namespace {

constexpr int kRetiredTurns = 4;

LeaderOptions leader_options(LeaderOptions options) {
  // Flushes request snapshots; the length of the log is only the last resort.
  if (options.snapshot_log_bytes == LeaderOptions().snapshot_log_bytes) {
    options.snapshot_log_bytes = kTableLogBytesMax;
  }
  return options;
}

}  // namespace

// Rows of ordered tables are removed by trimming only: compaction would leave no trace of them.
RetentionConfig keep_rows(MountConfig& mount) {
  const RetentionConfig asked = mount.retention();
  mount.min_data_versions = std::max<std::uint32_t>(mount.min_data_versions, 1);
  return asked;
}

ReaderOptions reader_options(const TableResources& resources, const MountConfig& mount) {
  ReaderOptions options;
  options.cache_by_default = mount.enable_lookup_cache_by_default;
  options.use_key_filter = mount.enable_key_filter_for_lookup;
  options.clock = [&clock = resources.world.clock] {
    const auto now = std::chrono::floor<std::chrono::seconds>(clock.since_epoch());
    return timestamp_of_seconds(static_cast<std::uint64_t>(now.count()));
  };
  return options;
}

TableTablet::Impl::Impl(TableResources& resources, TabletInfo info, TabletSettings settings,
                        TableTabletOptions options)
    : resources_(resources),
      info_(std::move(info)),
      settings_(std::move(settings)),
      options_(std::move(options)),
      blobs_(resources.world.executor, resources.groups, info_, options_.others,
             options_.leader.timeout),
      cache_(resources.row_cache_memory),
      state_(info_.id, settings_.schema),
      frozen_(options_.frozen) {
  if (settings_.schema && is_ordered(*settings_.schema)) {
    filled_.emplace(*settings_.schema);
    trims_by_ = keep_rows(settings_.mount);
  }
  if (has_bug(SeededBug::kPreparedForgotten)) state_.forget_prepared_in_snapshots();
}

// Views refer to chunks, and chunks to caches that may be destroyed next.
TableTablet::Impl::~Impl() {
  memory_.reset();
  reader_.reset();
  maintenance_.reset();
  leader_.reset();
  stores_.reset();
  // Retired objects may retire more. Readers on other threads may delay some: those are freed
  // later.
  for (int turn = 0; turn < kRetiredTurns && !run_retired(); ++turn) {
  }
}

Result<void> TableTablet::Impl::check_settings() const {
  if (!settings_.schema || settings_.schema->key_count() == 0) {
    return fail(Errc::kInvalidArgument, "a sorted table needs key columns");
  }
  if (!settings_.bounds.to.empty() && settings_.bounds.from >= settings_.bounds.to) {
    return fail(Errc::kInvalidArgument,
                fmt::format("tablet {} has an empty range", info_.id.value));
  }
  if (ordered() && !tablet_of_pivot(settings_.bounds.from)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("tablet {} of an ordered table begins within another", info_.id.value));
  }
  return check(settings_.mount);
}

Task<Result<void>> TableTablet::Impl::boot() {
  CO_TRY_VOID(check_settings());
  CO_TRY(leader_, co_await Leader::boot(resources_.world, resources_.groups, info_, state_,
                                        leader_options(options_.leader)));
  const Instant now = executor().now();
  stores_ =
      std::make_unique<StoreSet>(settings_.schema, settings_.bounds, state_.next_store(), now);
  auto unflushed = state_.begin(*stores_);
  if (!unflushed) co_return std::unexpected(unflushed.error());
  if (!unflushed->empty()) stores_->restore(*unflushed, now);
  CO_TRY_VOID(restore_prepared());
  CO_TRY_VOID(co_await adopt_chunks());
  CO_TRY_VOID(co_await open_chunks());
  maintenance_ = std::make_unique<Maintenance>(resources_, settings_, *stores_, *this, cache_,
                                               blobs_, read_statistics_);
  reader_ =
      std::make_unique<TabletReader>(executor(), stores_->views(), *this, blobs_, &cache_,
                                     read_statistics_, reader_options(resources_, settings_.mount));
  reader_->set_deleted_range(deleted_range_);
  memory_ = std::make_unique<TabletMemory>(resources_.store_budget, resources_.history_budget,
                                           executor(), *stores_, state_.locks().history(),
                                           [this] { return flush_for_node(); });
  leader_->on_end([this] { ended(); });
  if (ordered()) restore_end();
  maintenance_->start();
  scope_.spawn(tick_loop());
  co_return Result<void>();
}

Task<void> TableTablet::Impl::end_failed_boot() {
  if (leader_) co_await leader_->stop(false);
}

Result<void> TableTablet::Impl::restore_prepared() {
  for (const auto& [id, record] : state_.prepared()) {
    OpenMemoryStore* open = stores_->memory(record->store);
    if (open == nullptr) {
      return fail(Errc::kCorrupt,
                  fmt::format("transaction {} is prepared in a store that no longer exists",
                              to_string(id)));
    }
    auto transaction = std::make_shared<PreparedTransaction>(executor());
    transaction->record = record;
    transaction->promised =
        promise(*open, record->changes, {std::max(record->start, kMinTimestamp), true});
    transaction->asked = executor().now();
    transaction->durable = true;
    prepared_[id] = std::move(transaction);
  }
  return {};
}

// Chunks of other tablets become this one's, under new numbers and within its range. Transactions
// that began before now may conflict with changes in those tablets, and must fail. All of it
// becomes durable at once, by a snapshot, which may have any number of pages; a boot that is
// interrupted starts over. A commit after the requested snapshot proves that the snapshot was
// written.
Task<Result<void>> TableTablet::Impl::adopt_chunks() {
  if (state_.adopted()) co_return Result<void>();
  if (!options_.adopts && options_.adopted.empty()) co_return Result<void>();
  CO_TRY(const Timestamp now, co_await resources_.timestamps.next());
  state_.inherit(now, options_.adopted_retained);
  state_.trim(options_.adopted_trimmed);
  AdoptRecord record;
  const KeyBounds& bounds = settings_.bounds;
  for (ChunkRecord chunk : options_.adopted) {
    chunk.from = std::max(chunk.from, bounds.from);
    if (!bounds.to.empty() && (chunk.to.empty() || bounds.to < chunk.to)) chunk.to = bounds.to;
    const bool below = ends_below(chunk.statistics.last_key, chunk.from);
    const bool above = !chunk.to.empty() && chunk.statistics.first_key >= chunk.to;
    const bool empty = !chunk.to.empty() && chunk.from >= chunk.to;
    if (below || above || empty) continue;
    chunk.id = state_.next_chunk_id();
    record.chunks.push_back(std::move(chunk));
  }
  state_.adopt(record);
  leader_->want_snapshot();
  co_return co_await log(encode(DropBuildRecord{}), [](const std::vector<BlobId>&) {});
}

Task<Result<void>> TableTablet::Impl::open_chunks() {
  std::vector<OpenedChunk> opened;
  for (const auto& [id, record] : state_.chunks()) opened.push_back({record});
  Semaphore turns(executor(), kMetaReadsMax);
  TaskScope reads;
  for (OpenedChunk& chunk : opened) reads.spawn(open_chunk(chunk, turns));
  co_await reads.join();
  StoreSet::Change change;
  change.pivots = state_.pivots();
  change.retained_timestamp = state_.retained();
  for (OpenedChunk& chunk : opened) {
    if (!chunk.reader && is_damage(chunk.reader.error())) {
      change.damaged.push_back(
          damaged_chunk(chunk.record, chunk.reader.error(), settings_.schema->key_count()));
      continue;
    }
    if (!chunk.reader) {
      co_return std::unexpected(
          std::move(chunk.reader)
              .error()
              .within(fmt::format("{}: tablet {} cannot open chunk {}, meta {}",
                                  settings_.table_path, info_.id.value, chunk.record.id,
                                  chunk.record.meta.to_string())));
    }
    auto& place = state_.in_eden(chunk.record.id) ? change.added_to_eden : change.added;
    place.push_back(std::move(*chunk.reader));
  }
  if (!change.damaged.empty()) {
    // A later incarnation may have replaced chunks meanwhile: then they are not damaged but
    // discarded.
    CO_TRY_VOID(co_await leader_->confirm_lead());
    for (const DamagedChunk& chunk : change.damaged) {
      log_error(
          "damaged chunk",
          {{"table", settings_.table_path}, {"tablet", info_.id.value}, {"error", chunk.error}});
    }
  }
  stores_->apply(std::move(change));
  co_return Result<void>();
}

Task<void> TableTablet::Impl::open_chunk(OpenedChunk& chunk, Semaphore& turns) {
  co_await turns.acquire();
  const auto meta = co_await blobs_.read(chunk.record.meta, 0, chunk.record.meta.size());
  if (meta) {
    chunk.reader = ChunkReader::open(chunk.record, *meta, settings_.schema, blobs_,
                                     caches_of(resources_, settings_), read_statistics_.chunks);
  } else {
    chunk.reader = std::unexpected(meta.error());
  }
  turns.release();
}

}  // namespace moraine::table
