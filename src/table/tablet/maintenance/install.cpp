// Installs built chunks, and retires the chunks that they replace.

#include <algorithm>

#include "base/epoch.h"
#include "table/tablet/maintenance/maintenance_impl.h"

namespace moraine::table {

BuildPlaces Maintenance::Impl::places(Urgency urgency) {
  const bool flushes = urgency == Urgency::kFlush && resources_.flushing != nullptr;
  return {resources_.world.executor,
          flushes ? *resources_.flushing : resources_.background,
          resources_.world.clock,
          log_,
          blobs_,
          stopping_};
}

BuildSpec Maintenance::Impl::new_build() const {
  BuildSpec spec;
  spec.build = ++builds_;
  spec.schema = settings_.schema;
  spec.options = settings_.chunks;
  spec.options.key_seed = key_seed_;
  spec.drops_all_tombstones = has_bug(SeededBug::kTombstoneDroppedEarly);
  return spec;
}

// One durable change; the stores that readers see change with it. A build that is not installed is
// dropped.
Task<Result<void>> Maintenance::Impl::install(StoreLog::Replace change,
                                              std::vector<BuiltChunk> built) {
  for (const BuiltChunk& chunk : built) change.added.push_back(chunk.record);
  auto opened = co_await open(std::move(built));
  const std::uint64_t build = change.build;
  if (!opened) {
    co_await abandon_build(build);
    co_return std::unexpected(std::move(opened).error());
  }
  auto stores = std::make_shared<StoreSet::Change>();
  stores->removed = change.removed;
  stores->flushed = change.flushed;
  stores->added = std::move(*opened);
  stores->pivots = change.pivots;
  if (change.retained_timestamp != 0) stores->retained_timestamp = change.retained_timestamp;
  stores->replaces_rows = change.replaces_rows;
  const std::function<void()> confirmed = [this, stores] {
    // Before readers get the new view; update_row_cache() turns it on again.
    if (stores->replaces_rows) cache_.set_rows_max(0);
    Readers dead;
    for (const std::uint64_t id : stores->removed) {
      if (auto reader = stores_.chunk(id)) dead.push_back(std::move(reader));
      retained_ms_.erase(id);
      forget_preload(id);
      forced_.erase(id);
      excluded_.erase(id);
      failed_jobs_.forget(id);
    }
    stores_.apply(std::move(*stores));
    retire(std::move(dead));
    ++changes_;
    update_row_cache();
  };
  auto replaced = co_await log_.replace(std::move(change), confirmed);
  if (!replaced) {
    for (const auto& reader : stores->added) forget_preload(reader->record().id);
    co_await abandon_build(build);
    co_return std::unexpected(std::move(replaced).error());
  }
  sweep_retired();
  if (!retired_chunks_.empty()) flush_wakes_.set();
  co_return Result<void>{};
}

Task<Result<Maintenance::Impl::Readers>> Maintenance::Impl::open(std::vector<BuiltChunk> built) {
  Readers readers;
  for (BuiltChunk& chunk : built) {
    auto reader = ChunkReader::open(std::move(chunk.record), chunk.meta, settings_.schema, blobs_,
                                    caches_of(resources_, settings_), statistics_.chunks);
    if (!reader) {
      for (const auto& before : readers) forget_preload(before->record().id);
      co_return std::unexpected(std::move(reader).error());
    }
    co_await preload_new(*reader);
    readers.push_back(std::move(*reader));
  }
  co_return readers;
}

Task<void> Maintenance::Impl::abandon_build(std::uint64_t build) {
  if (build == 0 || stopping_) co_return;
  // If this fails too, the next incarnation drops the build.
  (void)co_await log_.drop_build(build);
}

void Maintenance::Impl::retire(Readers readers) {
  for (auto& reader : readers) retired_chunks_.push_back(std::move(reader));
}

bool Maintenance::Impl::is_used(const BlobId& hunks) const {
  const auto refers = [&hunks](const std::shared_ptr<ChunkReader>& reader) {
    const auto& uses = reader->record().hunks;
    return std::ranges::find(uses, hunks, &HunkUse::blob) != uses.end();
  };
  return std::ranges::any_of(retired_chunks_, refers) ||
         std::ranges::any_of(stores_.chunks(), refers,
                             [](const auto& item) { return item.second; });
}

// Discards the blobs of retired chunks without readers. Hunks that other chunks refer to stay.
void Maintenance::Impl::sweep_retired() {
  if (retired_chunks_.empty()) return;
  run_retired();
  for (std::size_t i = 0; i < retired_chunks_.size();) {
    if (retired_chunks_[i].use_count() > 1) {
      ++i;
      continue;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    ChunkRecord record = retired_chunks_[i]->record();
    retired_chunks_.erase(retired_chunks_.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase_if(record.hunks, [this](const HunkUse& use) { return is_used(use.blob); });
    log_.discard(record);
  }
}

void Maintenance::Impl::update_row_cache() {
  const MountConfig& mount = settings_.mount;
  if (mount.lookup_cache_rows_ratio <= 0) {
    cache_.set_rows_max(mount.lookup_cache_rows_per_tablet);
    return;
  }
  const double rows = mount.lookup_cache_rows_ratio * static_cast<double>(stores_.unmerged_rows());
  cache_.set_rows_max(std::max<std::size_t>(1, static_cast<std::size_t>(rows)));
}

}  // namespace moraine::table
