// Mount options, freezing, stopping, and periodic work.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "table/tablet/table_impl.h"

namespace moraine::table {

Result<void> TableTablet::Impl::remount(MountConfig mount,
                                        std::optional<ChunkWriteOptions> chunks) {
  TRY_VOID(check(mount));
  if (ordered()) trims_by_ = keep_rows(mount);
  settings_.mount = mount;
  if (chunks) settings_.chunks = *chunks;
  reader_->set_options(reader_options(resources_, mount));
  memory_->flushed();  // Flushes may have been enabled.
  maintenance_->wake();
  return {};
}

Task<Result<void>> TableTablet::Impl::freeze() {
  frozen_ = true;
  while (in_flight_ > 0 || !prepared_.empty()) {
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    co_await writes_changed_.wait();
    if (!frozen_) co_return fail(Errc::kAborted, "the tablet was unfrozen meanwhile");
  }
  CO_TRY_VOID(co_await flush());
  // After this the log has no rows: a later schema need not read them. A commit after the requested
  // snapshot proves that the snapshot was written.
  leader_->want_snapshot();
  co_return co_await log(encode(DropBuildRecord{}), [](const std::vector<BlobId>&) {});
}

Task<Result<void>> TableTablet::Impl::flush() {
  co_return co_await maintenance_->flush_all();
}

// One write at a time.
Result<void> TableTablet::Impl::begin_static() {
  if (!frozen_ || stopping_) {
    return fail(Errc::kReadOnly, "only static tables take rows in this way");
  }
  if (writing_static_) {
    return fail(Errc::kOverloaded, "another write to the table is in progress; retry");
  }
  writing_static_ = true;
  return {};
}

Result<void> TableTablet::Impl::end_static(Result<void> written) {
  writing_static_ = false;
  if (leader_->ended()) return written;  // The next incarnation knows whether it was written.
  if (stores_->append().since != 0) stores_->set_append({});
  wake_all_readers();
  return written;
}

Task<Result<void>> TableTablet::Impl::write_static(std::shared_ptr<const StaticRows> rows,
                                                   StaticWrite how) {
  CO_TRY_VOID(begin_static());
  co_return end_static(co_await write_marked(std::move(rows), how));
}

Task<Result<void>> TableTablet::Impl::write_static(StaticBatches rows, StaticWrite how) {
  CO_TRY_VOID(begin_static());
  co_return end_static(co_await write_batches(std::move(rows), how));
}

Task<Result<void>> TableTablet::Impl::write_marked(std::shared_ptr<const StaticRows> rows,
                                                   StaticWrite how) {
  CO_TRY(const Timestamp written, co_await mark_static());
  co_return co_await maintenance_->write_static(std::move(rows), written, how);
}

// Readers wait only while the chunks are installed.
Task<Result<void>> TableTablet::Impl::write_batches(StaticBatches rows, StaticWrite how) {
  CO_TRY(const Timestamp written, co_await resources_.timestamps.next());
  co_return co_await maintenance_->write_static(std::move(rows), written, how,
                                                [this] { return mark_static(); });
}

// Returns the timestamp of the write. Snapshots that begin before it never see it; later ones wait
// for its end. So the mark is set before the timestamp is drawn.
Task<Result<Timestamp>> TableTablet::Impl::mark_static() {
  deleted_range_->forget();
  stores_->set_append({kMaxTimestamp, false});
  CO_TRY(const Timestamp since, co_await resources_.timestamps.next());
  stores_->set_append({since, false});
  co_return co_await resources_.timestamps.next();
}

void TableTablet::Impl::ended() {
  scope_.close();
  append_turn_.close();
  wake_all_readers();
  writes_changed_.notify_all();
  if (on_end_) std::exchange(on_end_, nullptr)();
}

Task<void> TableTablet::Impl::stop() {
  stopping_ = true;
  on_end_ = nullptr;
  scope_.close();
  append_turn_.close();
  co_await maintenance_->stop();
  co_await leader_->stop(true);
  wake_all_readers();
  writes_changed_.notify_all();
  co_await scope_.join();
  run_retired();
}

void TableTablet::Impl::abandon() {
  stopping_ = true;
  on_end_ = nullptr;
  leader_->abandon();
  scope_.close();
  append_turn_.close();
  maintenance_->abandon();
  wake_all_readers();
  writes_changed_.notify_all();
}

Task<void> TableTablet::Impl::tick_loop() {
  while (!scope_.closed()) {
    if (co_await sleep_for(executor(), kTickPeriod, scope_)) tick();
  }
}

// The only check while nothing is written.
Task<void> TableTablet::Impl::poll_free_space() {
  const auto colour = co_await leader_->ask_colour();
  if (colour && *colour < kColourToStop && !scope_.closed()) maintenance_->wake();
}

// No transaction is older: older history is not needed to detect conflicts. Relative to the newest
// commit, and by the clock, so that it is released when nothing is written any more.
void TableTablet::Impl::expire_history() {
  const auto age = static_cast<std::uint64_t>(kTransactionAgeMax.count());
  const std::uint64_t newest = unix_seconds(state_.last_commit());
  if (newest > age) state_.locks().forget(timestamp_of_seconds(newest - age));
  using std::chrono::duration_cast, std::chrono::seconds;
  const auto now = duration_cast<seconds>(resources_.world.clock.since_epoch()).count();
  if (now > kTransactionAgeMax.count()) {
    state_.locks().expire(timestamp_of_seconds(static_cast<std::uint64_t>(now) - age));
  }
}

// The node has too many rows that are not flushed. What is frozen already is flushed first; the
// active store too if it is at least as large. False: this tablet does not flush now.
bool TableTablet::Impl::flush_for_node() {
  if (stopping_ || leader_->ended() || !settings_.mount.enable_store_flush) return false;
  const MemoryStore& active = *stores_->active().store;
  if (active.rows() > 0 && 2 * active.bytes() >= stores_->memory_bytes()) {
    stores_->rotate(executor().now());
  }
  maintenance_->wake();
  return true;
}

void TableTablet::Impl::tick() {
  expire_history();
  memory_->count();
  state_.finished().forget(state_.last_commit());
  poll_retired();
  if (space_is_short()) scope_.spawn(poll_free_space());
  snapshot_if_due(kLongLogBytes);
  ask_coordinators();
  if (ordered()) trim_expired();
}

std::vector<ChunkRecord> TableTablet::Impl::chunk_records() const {
  std::vector<ChunkRecord> records;
  for (const auto& [id, record] : state_.chunks()) records.push_back(record);
  return records;
}

std::vector<TabletId> TableTablet::Impl::borrowed_from() const {
  std::set<TabletId> tablets;
  const auto add = [&tablets](const ChunkRecord& record) {
    tablets.insert(record.meta.tablet());
    for (const BlobId& blob : record.data) tablets.insert(blob.tablet());
    for (const HunkUse& use : record.hunks) tablets.insert(use.blob.tablet());
  };
  for (const auto& [id, record] : state_.chunks()) add(record);
  for (const Retired& chunk : retired_) add(chunk.record);
  for (const auto& [tablet, until] : borrowed_until_) {
    if (until > executor().now()) tablets.insert(tablet);
  }
  tablets.erase(info_.id);
  return {tablets.begin(), tablets.end()};
}

// Each chunk contributes keys in proportion to its size.
std::vector<std::string> TableTablet::Impl::split_keys(std::size_t parts) const {
  constexpr std::uint64_t kSamplesPerPart = 16;
  std::uint64_t bytes = 0;
  for (const auto& [id, chunk] : stores_->chunks()) {
    bytes += chunk->record().statistics.uncompressed_bytes;
  }
  if (bytes == 0 || parts < 2) return {};
  std::vector<std::string> samples;
  for (const auto& [id, chunk] : stores_->chunks()) {
    const double share = static_cast<double>(chunk->record().statistics.uncompressed_bytes) /
                         static_cast<double>(bytes);
    const auto pieces =
        static_cast<std::size_t>(share * static_cast<double>(parts * kSamplesPerPart) + 1.5);
    for (std::string& key : chunk->split_keys(pieces)) samples.push_back(std::move(key));
  }
  const KeyBounds& bounds = settings_.bounds;
  std::erase_if(samples, [&](const std::string& key) {
    return key <= bounds.from || (!bounds.to.empty() && key >= bounds.to);
  });
  std::ranges::sort(samples);
  std::vector<std::string> keys;
  for (std::size_t i = 1; i < parts && !samples.empty(); ++i) {
    const std::string& key = samples[std::min(i * samples.size() / parts, samples.size() - 1)];
    if (keys.empty() || keys.back() < key) keys.push_back(key);
  }
  return keys;
}

void TableTablet::Impl::add_reads(TabletStatistics& all) const {
  using Figure = LookupStatistics;
  all.lookup_cache_hits = cache_.statistics().hits;
  all.lookup_rows = read_statistics_.lookup.get(Figure::kRows);
  all.lookup_missing_rows = read_statistics_.lookup.get(Figure::kMissingRows);
  all.lookup_data_weight = read_statistics_.lookup.get(Figure::kDataWeight);
  all.scan_rows = read_statistics_.scan.get(Figure::kRows);
  all.scan_data_weight = read_statistics_.scan.get(Figure::kDataWeight);
}

// Commits in progress will have timestamps above the last one, prepared ones above their starts.
Timestamp TableTablet::Impl::unflushed() const {
  Timestamp lowest = needed_since();
  if (in_flight_ > 0) lowest = std::min(lowest, state_.last_commit() + 1);
  for (const OpenMemoryStore& open : stores_->memory_stores()) {
    const Timestamp least = open.store->min_timestamp();
    if (least != 0) lowest = std::min(lowest, least);
  }
  return lowest;
}

TabletStatistics TableTablet::Impl::statistics() const {
  TabletStatistics all;
  add_reads(all);
  maintenance_->add_statistics(all);
  for (const Retired& chunk : retired_) {
    if (chunk.reader.expired()) continue;
    ++all.replaced_chunks;
    all.replaced_bytes += chunk.record.statistics.data_bytes + chunk.record.statistics.meta_bytes;
  }
  all.replaced_memory_bytes = stores_->replaced_memory_bytes();
  all.commits = commits_;
  if (ordered()) {
    all.total_rows = end_.rows;
    all.trimmed_rows = state_.trimmed().rows;
  }
  all.conflicts = conflicts_;
  all.last_commit = state_.last_commit();
  all.unflushed = std::min(unflushed(), state_.last_commit() + 1);
  if (all.error.empty() && leader_->ended() && !stopping_) all.error = leader_->ended()->message();
  return all;
}

}  // namespace moraine::table
