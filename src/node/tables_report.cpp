#include "node/tables_report.h"

#include <set>

namespace moraine {
namespace {

void add_stores(table::TabletStatistics& sum, const table::TabletStatistics& one) {
  sum.unmerged_rows += one.unmerged_rows;
  sum.chunks += one.chunks;
  sum.eden_chunks += one.eden_chunks;
  sum.partitions += one.partitions;
  sum.overlapping_stores = std::max(sum.overlapping_stores, one.overlapping_stores);
  sum.uncompressed_bytes += one.uncompressed_bytes;
  sum.compressed_bytes += one.compressed_bytes;
  sum.hunk_bytes += one.hunk_bytes;
  sum.memory_bytes += one.memory_bytes;
  sum.replaced_chunks += one.replaced_chunks;
  sum.replaced_bytes += one.replaced_bytes;
  sum.replaced_memory_bytes += one.replaced_memory_bytes;
  sum.flushes += one.flushes;
  sum.compactions += one.compactions;
  sum.compacted_bytes_in += one.compacted_bytes_in;
  sum.compacted_bytes_out += one.compacted_bytes_out;
  sum.chunks_dropped_unread += one.chunks_dropped_unread;
  sum.damaged_chunks += one.damaged_chunks;
  sum.preload_completed_chunks += one.preload_completed_chunks;
  sum.preload_pending_chunks += one.preload_pending_chunks;
  sum.preload_failed_chunks += one.preload_failed_chunks;
  sum.preload_failures += one.preload_failures;
  sum.commits += one.commits;
  sum.conflicts += one.conflicts;
}

// Chunks that several tablets took over from one parent count once.
Task<std::uint64_t> count_chunks(std::vector<std::shared_ptr<LaneTable>> tablets) {
  std::set<BlobId> metas;
  for (const auto& tablet : tablets) {
    const auto records =
        co_await tablet->get([](table::TableTablet& running) { return running.chunk_records(); });
    for (const table::ChunkRecord& chunk : records) metas.insert(chunk.meta);
  }
  co_return metas.size();
}

}  // namespace

void ReadReport::add(const table::LookupStatistics& statistics) {
  using Figures = table::LookupStatistics;
  rows += statistics.get(Figures::kRows);
  missing_rows += statistics.get(Figures::kMissingRows);
  unmerged_rows += statistics.get(Figures::kUnmergedRows);
  unmerged_missing_rows += statistics.get(Figures::kUnmergedMissingRows);
  data_weight += statistics.get(Figures::kDataWeight);
  unmerged_data_weight += statistics.get(Figures::kUnmergedDataWeight);
  requests += statistics.get(Figures::kRequests);
  waits += statistics.get(Figures::kWaits);
  retries += statistics.get(Figures::kRetries);
}

void ChunkReadReport::add(const table::ChunkReadCounters& counters) {
  using Figures = table::ChunkReadCounters;
  disk_bytes += counters.get(Figures::kDiskBytes);
  transmitted_bytes += counters.get(Figures::kTransmittedBytes);
  cache_bytes += counters.get(Figures::kCacheBytes);
  filter_keys += counters.get(Figures::kFilterKeys);
  filtered_keys += counters.get(Figures::kFilteredKeys);
  filter_false_positives += counters.get(Figures::kFilterFalsePositives);
}

// The sum is read first, so that no bucket exceeds the count while other threads observe.
void DurationReport::add(const ThreadHistogram& durations) {
  sum += durations.sum();
  std::uint64_t most = 0;
  for (std::uint32_t power = kFirstPower; power <= kLastPower; ++power) {
    most = std::max(most, durations.count_below(power));
    below[power - kFirstPower] += most;
  }
  count += std::max(most, durations.count());
}

void TableFigures::add(table::TableTablet& tablet) {
  ++tablets_running;
  add_stores(stores, tablet.statistics());
  const table::RowCache::Statistics cache = tablet.row_cache().statistics();
  row_cache.hits += cache.hits;
  row_cache.misses += cache.misses;
  row_cache.inserts += cache.inserts;
  row_cache.outdated += cache.outdated;
  row_cache.evicted += cache.evicted;
  row_cache.rows += cache.rows;
  const table::ReadStatistics& reads = tablet.read_statistics();
  lookup.add(reads.lookup);
  select.add(reads.scan);
  lookup_chunks.add(reads.chunks.of(table::ReadKind::kLookup));
  lookup_hunks.add(reads.hunks.of(table::ReadKind::kLookup));
  select_chunks.add(reads.chunks.of(table::ReadKind::kSelect));
  select_hunks.add(reads.hunks.of(table::ReadKind::kSelect));
  background_chunks.add(reads.chunks.of(table::ReadKind::kBackground));
  lookup_duration.add(reads.lookup_duration);
}

Task<TablesReport> report_tables(TableServices& services) {
  TablesReport report;
  for (const auto& table : services.tables().list()) {
    TableFigures& figures = report.tables.emplace_back();
    figures.path = "/" + table->path();
    figures.tablets = table->record().tablets.size();
    const bool shared = !table->record().retired.empty();
    std::vector<std::shared_ptr<LaneTable>> running;
    for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
      if (auto tablet = table->calls(i)) running.push_back(std::move(tablet));
    }
    for (const auto& tablet : running) {
      figures = co_await tablet->get([&figures](table::TableTablet& one) {
        TableFigures sum = std::move(figures);
        sum.add(one);
        return sum;
      });
    }
    if (shared) figures.stores.chunks = co_await count_chunks(std::move(running));
  }
  report.row_cache_ranks = services.row_cache_memory().ranks();
  report.blocks = services.blocks().statistics();
  report.pinned_bytes = services.pinned_memory().bytes();
  report.pinned_bytes_max = services.pinned_memory().bytes_max();
  report.memory_store_bytes = services.store_budget().bytes();
  report.memory_store_bytes_max = services.store_budget().bytes_max();
  report.memory_store_flushes = services.store_budget().asked();
  report.lock_history_bytes = services.history_budget().bytes();
  report.lock_history_bytes_max = services.history_budget().bytes_max();
  report.transactions_open = services.open_counts().transactions.open();
  report.scans_open = services.open_counts().scans.open();
  co_return report;
}

}  // namespace moraine
