#include "service/tables_report.h"

#include <set>

namespace moraine {
namespace {

std::uint64_t now(const std::atomic<std::uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

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
  sum.commits += one.commits;
  sum.conflicts += one.conflicts;
}

// Those that several tablets took over from one count once.
std::uint64_t count_chunks(const RunningTable& table) {
  std::set<BlobId> metas;
  for (std::size_t i = 0; i < table.record().tablets.size(); ++i) {
    const auto tablet = table.tablet(i);
    if (!tablet) continue;
    for (const table::ChunkRecord& chunk : tablet->chunk_records()) metas.insert(chunk.meta);
  }
  return metas.size();
}

}  // namespace

void ReadReport::add(const table::LookupStatistics& statistics) {
  rows += now(statistics.rows);
  missing_rows += now(statistics.missing_rows);
  unmerged_rows += now(statistics.unmerged_rows);
  data_weight += now(statistics.data_weight);
  requests += now(statistics.requests);
  waits += now(statistics.waits);
  retries += now(statistics.retries);
}

void ChunkReadReport::add(const table::ChunkReadStatistics& statistics) {
  disk_bytes += now(statistics.disk_bytes);
  cache_bytes += now(statistics.cache_bytes);
  filter_keys += now(statistics.filter_keys);
  filtered_keys += now(statistics.filtered_keys);
  filter_false_positives += now(statistics.filter_false_positives);
}

// The sum is read first, so that no bucket can pass the count while others observe.
void DurationReport::add(const Histogram& durations) {
  sum += durations.sum();
  std::uint64_t most = 0;
  for (std::uint32_t power = kFirstPower; power <= kLastPower; ++power) {
    most = std::max(most, durations.count_below(std::uint64_t{1} << power));
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
  chunks.add(reads.chunks);
  hunks.add(reads.hunks);
  lookup_duration.add(reads.lookup_duration);
}

TablesReport report_tables(TableServices& services) {
  TablesReport report;
  for (const auto& table : services.tables().list()) {
    TableFigures& figures = report.tables.emplace_back();
    figures.path = "/" + table->path();
    figures.tablets = table->record().tablets.size();
    for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
      if (const auto tablet = table->tablet(i)) figures.add(*tablet);
    }
    if (!table->record().retired.empty()) figures.stores.chunks = count_chunks(*table);
  }
  report.row_cache_ranks = services.row_cache_memory().ranks();
  report.blocks = services.blocks().statistics();
  return report;
}

}  // namespace moraine
