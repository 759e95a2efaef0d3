#include "table/tablet/maintenance/maintenance.h"

#include <algorithm>

#include "base/log.h"
#include "table/tablet/maintenance/maintenance_impl.h"

namespace moraine::table {

Maintenance::Impl::Impl(TableResources& resources, TabletSettings& settings, StoreSet& stores,
                        StoreLog& log, RowCache& cache, BlobReader& blobs,
                        ReadStatistics& statistics)
    : resources_(resources),
      settings_(settings),
      stores_(stores),
      log_(log),
      cache_(cache),
      blobs_(blobs),
      statistics_(statistics),
      key_seed_(resources.world.random.next()),
      revision_(settings.mount.forced_compaction_revision),
      last_write_(resources.world.executor.now()) {
  update_row_cache();
}

void Maintenance::Impl::start() {
  note_revision(true);
  scope_.spawn(flush_loop());
  scope_.spawn(compact_loop());
  if (settings_.in_memory_mode != InMemoryMode::kNone) scope_.spawn(preload_loop());
}

void Maintenance::Impl::wake() {
  ++changes_;
  note_revision(false);
  update_row_cache();
  flush_wakes_.set();
  compact_wakes_.set();
}

std::uint64_t Maintenance::Impl::now_ms() const {
  return static_cast<std::uint64_t>(resources_.world.clock.since_epoch().count());
}

void Maintenance::Impl::note(Failure& failure, const Result<void>& done, std::string_view what) {
  if (done) {
    failure.in_a_row = 0;
    failure.last.reset();
    return;
  }
  ++failure.count;
  ++failure.in_a_row;
  failure.last = done.error();
  if (stopping_) return;
  log_warning(what, {{"table", settings_.table_path}, {"error", done.error()}});
}

Instant Maintenance::Impl::after_failure(const Failure& failure) const {
  const auto pauses = static_cast<std::int64_t>(std::min<std::uint64_t>(failure.in_a_row, 30));
  return now() + std::min<Duration>(kMaintenancePause * pauses, kMaintenancePauseMax);
}

void Maintenance::Impl::note_writes() {
  const OpenMemoryStore& active = stores_.active();
  const std::pair seen(active.number, active.store->bytes());
  if (std::exchange(seen_, seen) != seen) last_write_ = now();
}

Task<void> Maintenance::Impl::flush_loop() {
  while (!scope_.closed()) {
    sweep_retired();
    rotate_if_due();
    if (flush_due()) {
      flushing_ = true;
      const auto done = co_await flush(oldest_frozen()->number);
      flushing_ = false;
      note(flush_failure_, done, "flush failed");
      if (done) wake();
      turn_ended_.notify_all();
      if (!done && !scope_.closed())
        co_await flush_wakes_.wait_until(after_failure(flush_failure_), scope_);
      continue;
    }
    turn_ended_.notify_all();
    co_await flush_wakes_.wait_until(next_flush_look(), scope_);
  }
  turn_ended_.notify_all();
}

Task<void> Maintenance::Impl::compact_loop() {
  while (!scope_.closed()) {
    const std::uint64_t changes = changes_;
    const bool idle = settling_ > 0;
    note_writes();
    Plan next = co_await plan();
    if (scope_.closed()) break;
    if (replacing_) {
      co_await compact_wakes_.wait_until(Instant::never(), scope_);
      continue;
    }
    if (next.job) {
      compacting_ = true;
      const std::vector<std::uint64_t> chunks = next.job->chunks;
      const auto done = co_await compact(std::move(*next.job));
      compacting_ = false;
      note(compact_failure_, done, "compaction failed");
      // Others may run: it is retried when its time has come. Damaged chunks are excluded already.
      const bool remembered = !done && !chunks.empty() && done.error().code != Errc::kCorrupt;
      if (remembered) failed_jobs_.add(with_refused_row(chunks), done.error(), now());
      turn_ended_.notify_all();
      if (!done && !scope_.closed()) {
        const Instant soon = now() + kMaintenancePause;
        co_await compact_wakes_.wait_until(remembered ? soon : after_failure(compact_failure_),
                                           scope_);
      }
      continue;
    }
    if (idle) quiet_changes_ = changes;
    turn_ended_.notify_all();
    Instant until = Instant::never();
    if (next.next_ms != 0) {
      const std::uint64_t here = now_ms();
      const std::chrono::milliseconds left(next.next_ms > here ? next.next_ms - here : 0);
      until = now() + std::clamp<Duration>(left, kPlanPeriodMin, kPlanPeriodMax);
    }
    until = std::min(until, failed_jobs_.next(now()));
    const Instant idle_at = last_write_ + kIdleAfter;
    if (now() < idle_at) until = std::min(until, idle_at);
    co_await compact_wakes_.wait_until(until, scope_);
  }
  turn_ended_.notify_all();
}

Task<Result<void>> Maintenance::Impl::flush_all() {
  if (stores_.active().store->rows() > 0) stores_.rotate(now());
  const StoreNumber active = stores_.active().number;
  const std::uint64_t failures = flush_failure_.count;
  ++flush_calls_;
  wake();
  Result<void> done;
  while (stores_.memory_stores().front().number < active) {
    if (scope_.closed()) {
      done = fail(Errc::kUnavailable, "the tablet is stopping");
    } else if (flush_failure_.count != failures) {
      done = std::unexpected(flush_failure_.last.value_or(Error{}));
    }
    if (!done) break;
    co_await turn_ended_.wait();
  }
  --flush_calls_;
  co_return done;
}

Task<Result<void>> Maintenance::Impl::compact_all() {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, reader] : stores_.chunks()) ids.push_back(id);
  forced_.insert(ids.begin(), ids.end());
  for (const std::uint64_t id : ids) failed_jobs_.forget(id);
  const std::uint64_t failures = compact_failure_.count;
  wake();
  for (;;) {
    std::erase_if(ids, [this](std::uint64_t id) {
      return !stores_.chunks().contains(id) || excluded_.contains(id);
    });
    if (ids.empty()) break;
    if (scope_.closed()) co_return fail(Errc::kUnavailable, "the tablet is stopping");
    if (compact_failure_.count != failures) {
      co_return std::unexpected(compact_failure_.last.value_or(Error{}));
    }
    co_await turn_ended_.wait();
    if (!compacting_ && log_.space_is_short()) {
      co_return fail(Errc::kNoSpace, settings_.table_path +
                                         ": the disks are nearly full; only small "
                                         "merges run");
    }
  }
  if (!excluded_.empty()) co_return std::unexpected(excluded_.begin()->second);
  co_return Result<void>{};
}

void Maintenance::Impl::compact_soon(const std::vector<std::uint64_t>& chunks) {
  if (!settings_.mount.enable_compaction_and_partitioning) return;
  forced_.insert(chunks.begin(), chunks.end());
  wake();
}

void Maintenance::Impl::trimmed() {
  ++changes_;
  wake();
}

Task<void> Maintenance::Impl::settle() {
  ++settling_;
  const std::uint64_t failures = flush_failure_.count + compact_failure_.count;
  wake();
  while (!scope_.closed() && flush_failure_.count + compact_failure_.count == failures) {
    const bool flushed = !flushing_ && !flush_due();
    if (flushed && !compacting_ && quiet_changes_ == changes_) break;
    co_await turn_ended_.wait();
  }
  --settling_;
  sweep_retired();
}

void Maintenance::Impl::add_statistics(TabletStatistics& statistics) const {
  const auto view = stores_.views().hold();
  std::size_t deepest = 0;
  for (const PartitionView& partition : view->partitions) {
    std::vector<PlannedChunk> chunks(partition.chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      chunks[i].record = &partition.chunks[i]->record();
    }
    deepest = std::max(deepest, depth(chunks));
  }
  std::set<BlobId> hunks;
  for (const auto& [id, reader] : stores_.chunks()) {
    const ChunkRecord& record = reader->record();
    statistics.uncompressed_bytes += reader->part_of(record.statistics.uncompressed_bytes);
    statistics.compressed_bytes += reader->part_of(record.statistics.data_bytes);
    for (const HunkUse& use : record.hunks) {
      // Blobs of another tablet may be shared: each tablet counts what it refers to.
      const bool own = use.blob.tablet() == record.meta.tablet() && reader->share() == 1;
      if (own) hunks.insert(use.blob);
      if (!own) statistics.hunk_bytes += reader->part_of(use.bytes);
    }
  }
  for (const BlobId& id : hunks) statistics.hunk_bytes += id.size();
  statistics.unmerged_rows = stores_.unmerged_rows();
  statistics.chunks = stores_.chunks().size();
  statistics.eden_chunks = view->eden.size();
  statistics.partitions = view->partitions.size();
  statistics.overlapping_stores = view->eden.size() + deepest;
  statistics.memory_bytes = stores_.memory_bytes();
  statistics.retained = view->retained_timestamp;
  statistics.flushes += counted_.flushes;
  statistics.compactions += counted_.compactions;
  statistics.compacted_bytes_in += counted_.compacted_bytes_in;
  statistics.compacted_bytes_out += counted_.compacted_bytes_out;
  statistics.chunks_dropped_unread += counted_.chunks_dropped_unread;
  add_preload_statistics(statistics);
  for (const Failure* failure : {&preload_failure_, &flush_failure_, &compact_failure_}) {
    if (failure->last) statistics.error = failure->last->message();
  }
  if (const Error* error = failed_jobs_.error()) statistics.error = error->message();
  if (!excluded_.empty()) statistics.error = excluded_.begin()->second.message();
  if (!stores_.damaged().empty()) statistics.error = stores_.damaged().front().error.message();
  statistics.damaged_chunks = stores_.damaged().size() + excluded_.size();
}

Task<void> Maintenance::Impl::stop() {
  abandon();
  co_await scope_.join();
  turn_ended_.notify_all();
}

void Maintenance::Impl::abandon() {
  stopping_ = true;
  scope_.close();
}

Maintenance::Maintenance(TableResources& resources, TabletSettings& settings, StoreSet& stores,
                         StoreLog& log, RowCache& cache, BlobReader& blobs,
                         ReadStatistics& statistics)
    : impl_(std::make_unique<Impl>(resources, settings, stores, log, cache, blobs, statistics)) {}
Maintenance::~Maintenance() = default;

void Maintenance::start() {
  impl_->start();
}
void Maintenance::wake() {
  impl_->wake();
}
Task<Result<void>> Maintenance::flush_all() {
  return impl_->flush_all();
}
Task<Result<void>> Maintenance::compact_all() {
  return impl_->compact_all();
}
void Maintenance::compact_soon(const std::vector<std::uint64_t>& chunks) {
  impl_->compact_soon(chunks);
}
void Maintenance::trimmed() {
  impl_->trimmed();
}
Task<Result<void>> Maintenance::write_static(std::shared_ptr<const StaticRows> rows,
                                             Timestamp timestamp, StaticWrite how) {
  return impl_->write_static(std::move(rows), timestamp, how);
}
Task<Result<void>> Maintenance::write_static(StaticBatches rows, Timestamp timestamp,
                                             StaticWrite how, BeginInstall begin) {
  return impl_->write_static(std::move(rows), timestamp, how, std::move(begin));
}
Task<void> Maintenance::settle() {
  return impl_->settle();
}
void Maintenance::add_statistics(TabletStatistics& statistics) const {
  impl_->add_statistics(statistics);
}
Task<void> Maintenance::stop() {
  return impl_->stop();
}
void Maintenance::abandon() {
  impl_->abandon();
}

}  // namespace moraine::table
