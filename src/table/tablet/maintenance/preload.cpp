// in_memory_mode: the blocks of every chunk are read in advance and stay in memory. A chunk that
// could not be loaded is read from the disk meanwhile, and retried.

#include <fmt/format.h>

#include <algorithm>

#include "table/tablet/maintenance/maintenance_impl.h"

namespace moraine::table {

ChunkCaches caches_of(const TableResources& resources, const TabletSettings& settings) {
  ChunkCaches caches{&resources.blocks, resources.compressed_blocks};
  caches.pins_compressed = settings.in_memory_mode == InMemoryMode::kCompressed;
  return caches;
}

Task<Result<void>> Maintenance::Impl::preload(std::shared_ptr<ChunkReader> reader) {
  const std::uint64_t id = reader->record().id;
  Result<void> loaded = co_await reader->preload();
  (loaded ? preload_failed_ : preloaded_).erase(id);
  (loaded ? preloaded_ : preload_failed_).insert(id);
  co_return loaded;
}

// Logs one line for all failures. The pause before the next attempt grows.
void Maintenance::Impl::note_preload(const Result<void>& done) {
  if (done && !preload_failed_.empty()) return;
  note(preload_failure_, done,
       fmt::format("{} chunks are not in memory and are read from the disk; retrying",
                   preload_failed_.size()));
  if (!done) preload_after_ = after_failure(preload_failure_);
}

// Loads a chunk that is being installed before any reader uses it; a failure is retried later.
Task<void> Maintenance::Impl::preload_new(std::shared_ptr<ChunkReader> reader) {
  if (settings_.in_memory_mode == InMemoryMode::kNone) co_return;
  const Result<void> loaded = co_await preload(std::move(reader));
  const Instant planned = preload_after_;
  note_preload(loaded);
  // Chunks that keep failing do not put off the attempt at older ones.
  if (planned > now()) preload_after_ = planned;
  if (!loaded) preload_wakes_.set();
}

Task<Result<void>> Maintenance::Impl::preload_missing() {
  Readers missing;
  for (const auto& [id, reader] : stores_.chunks()) {
    if (!preloaded_.contains(id)) missing.push_back(reader);
  }
  Result<void> all;
  for (const auto& reader : missing) {
    const std::uint64_t id = reader->record().id;
    if (scope_.closed()) co_return all;
    // It may have been replaced meanwhile.
    if (stores_.chunk(id) != reader || preloaded_.contains(id)) continue;
    Result<void> loaded = co_await preload(reader);
    if (stores_.chunk(id) != reader) {
      forget_preload(id);
    } else if (!loaded && all) {
      all = std::move(loaded);
    }
  }
  co_return all;
}

Task<void> Maintenance::Impl::preload_loop() {
  while (!scope_.closed()) {
    if (now() >= preload_after_) {
      note_preload(co_await preload_missing());
      // Those that failed while they are being installed are not among the stores yet.
      if (!preload_failed_.empty()) {
        preload_after_ = std::max(preload_after_, now() + kMaintenancePause);
      }
    }
    co_await preload_wakes_.wait_until(preload_failed_.empty() ? Instant::never() : preload_after_,
                                       scope_);
  }
}

void Maintenance::Impl::forget_preload(std::uint64_t chunk) {
  preloaded_.erase(chunk);
  preload_failed_.erase(chunk);
}

void Maintenance::Impl::add_preload_statistics(TabletStatistics& statistics) const {
  if (settings_.in_memory_mode == InMemoryMode::kNone) return;
  for (const auto& [id, reader] : stores_.chunks()) {
    if (preloaded_.contains(id)) {
      ++statistics.preload_completed_chunks;
    } else if (preload_failed_.contains(id)) {
      ++statistics.preload_failed_chunks;
    } else {
      ++statistics.preload_pending_chunks;
    }
  }
  statistics.preload_failures += preload_failure_.count;
  if (preload_failure_.last) statistics.preload_error = preload_failure_.last->message();
}

}  // namespace moraine::table
