// The report of tables as Prometheus reads it.

#include <fmt/format.h>

#include <iterator>

#include "client/open_counts.h"
#include "node/tables_report.h"

namespace moraine {
namespace {

struct Field {
  std::string_view name;
  std::string_view kind;
  std::string_view help;
  std::uint64_t (*value)(const TableFigures&);
};

#define FIGURE(expression) [](const TableFigures& t) -> std::uint64_t { return t.expression; }

constexpr Field kFields[] = {
    {"yt_tablet_node_lookup_cache_hits_total", "counter", "Keys answered from the row cache",
     FIGURE(row_cache.hits)},
    {"yt_tablet_node_lookup_cache_misses_total", "counter", "Keys that the row cache did not have",
     FIGURE(row_cache.misses)},
    {"yt_tablet_node_lookup_cache_inserts_total", "counter", "Rows inserted into the row cache",
     FIGURE(row_cache.inserts)},
    {"yt_tablet_node_lookup_cache_outdated_total", "counter",
     "Keys whose cached row could not be refreshed for lack of memory", FIGURE(row_cache.outdated)},
    {"yt_tablet_node_lookup_row_count_total", "counter", "Keys found", FIGURE(lookup.rows)},
    {"yt_tablet_node_lookup_missing_row_count_total", "counter", "Keys not found",
     FIGURE(lookup.missing_rows)},
    {"yt_tablet_node_lookup_unmerged_row_count_total", "counter",
     "Keys found in a store, counted for each store before rows are merged",
     FIGURE(lookup.unmerged_rows)},
    {"yt_tablet_node_lookup_unmerged_missing_row_count_total", "counter",
     "Keys not found in a store, counted for each store that was asked",
     FIGURE(lookup.unmerged_missing_rows)},
    {"yt_tablet_node_lookup_unmerged_data_weight_total", "counter",
     "Bytes of all versions that lookups read from stores", FIGURE(lookup.unmerged_data_weight)},
    {"yt_tablet_node_lookup_wasted_unmerged_data_weight_total", "counter",
     "Bytes that lookups read from stores and did not return", FIGURE(lookup.wasted_data_weight())},
    {"yt_tablet_node_lookup_data_weight_total", "counter", "Bytes of rows returned",
     FIGURE(lookup.data_weight)},
    {"yt_tablet_node_lookup_request_count_total", "counter", "Lookups", FIGURE(lookup.requests)},
    {"yt_tablet_node_lookup_wait_on_blocked_row_count_total", "counter",
     "Rows that were waited for while a transaction was being decided", FIGURE(lookup.waits)},
    {"yt_tablet_node_lookup_retry_count_total", "counter",
     "Keys that were looked up again once blocks were read or rows decided",
     FIGURE(lookup.retries)},
    {"yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_read_from_disk_total", "counter",
     "Bytes of chunks that lookups read from devices", FIGURE(lookup_chunks.disk_bytes)},
    {"yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_read_from_cache_total", "counter",
     "Bytes of blocks that lookups found in memory", FIGURE(lookup_chunks.cache_bytes)},
    {"yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_transmitted_total", "counter",
     "Bytes of chunks that blob storage groups sent to lookups; reads of a device of this process "
     "are not sent",
     FIGURE(lookup_chunks.transmitted_bytes)},
    {"yt_tablet_node_lookup_hunks_chunk_reader_statistics_data_bytes_read_from_disk_total",
     "counter", "Bytes of hunks that lookups read from devices", FIGURE(lookup_hunks.disk_bytes)},
    {"yt_tablet_node_lookup_hunks_chunk_reader_statistics_data_bytes_transmitted_total", "counter",
     "Bytes of hunks that blob storage groups sent to lookups; reads of a device of this process "
     "are not sent",
     FIGURE(lookup_hunks.transmitted_bytes)},
    {"yt_tablet_node_lookup_key_filter_input_key_count_total", "counter",
     "Keys checked against filters of chunks", FIGURE(lookup_chunks.filter_keys)},
    {"yt_tablet_node_lookup_key_filter_filtered_out_key_count_total", "counter",
     "Keys that filters of chunks excluded", FIGURE(lookup_chunks.filtered_keys)},
    {"yt_tablet_node_lookup_key_filter_false_positive_key_count_total", "counter",
     "False positives of filters of chunks", FIGURE(lookup_chunks.filter_false_positives)},
    {"yt_tablet_node_select_chunk_reader_statistics_data_bytes_read_from_disk_total", "counter",
     "Bytes of chunks that scans read from devices", FIGURE(select_chunks.disk_bytes)},
    {"yt_tablet_node_select_chunk_reader_statistics_data_bytes_read_from_cache_total", "counter",
     "Bytes of blocks that scans found in memory", FIGURE(select_chunks.cache_bytes)},
    {"yt_tablet_node_select_chunk_reader_statistics_data_bytes_transmitted_total", "counter",
     "Bytes of chunks that blob storage groups sent to scans; reads of a device of this process "
     "are not sent",
     FIGURE(select_chunks.transmitted_bytes)},
    {"yt_tablet_node_select_hunks_chunk_reader_statistics_data_bytes_read_from_disk_total",
     "counter", "Bytes of hunks that scans read from devices", FIGURE(select_hunks.disk_bytes)},
    {"yt_tablet_node_select_hunks_chunk_reader_statistics_data_bytes_transmitted_total", "counter",
     "Bytes of hunks that blob storage groups sent to scans; reads of a device of this process are "
     "not sent",
     FIGURE(select_hunks.transmitted_bytes)},
    {"moraine_table_background_read_bytes_total", "counter",
     "Bytes of chunks that compactions and preloading read from devices",
     FIGURE(background_chunks.disk_bytes)},
    {"yt_tablet_node_select_row_count_total", "counter", "Rows returned by scans",
     FIGURE(select.rows)},
    {"yt_tablet_node_select_unmerged_row_count_total", "counter",
     "Rows that scans read from single stores", FIGURE(select.unmerged_rows)},
    {"yt_tablet_node_select_data_weight_total", "counter", "Bytes returned by scans",
     FIGURE(select.data_weight)},
    {"yt_tablet_node_select_request_count_total", "counter", "Scans of tablets",
     FIGURE(select.requests)},
    {"yt_tablet_node_select_wait_on_blocked_row_count_total", "counter",
     "Rows that scans waited for while a transaction was being decided", FIGURE(select.waits)},
    {"moraine_table_row_cache_rows", "gauge", "Rows in the row cache", FIGURE(row_cache.rows)},
    {"moraine_table_row_cache_evicted_total", "counter", "Rows evicted from the row cache",
     FIGURE(row_cache.evicted)},
    {"moraine_table_tablets", "gauge", "Tablets", FIGURE(tablets)},
    {"moraine_table_tablets_running", "gauge", "Tablets that run here", FIGURE(tablets_running)},
    {"moraine_table_commits_total", "counter", "Transactions committed", FIGURE(stores.commits)},
    {"moraine_table_conflicts_total", "counter", "Transactions refused for conflicts",
     FIGURE(stores.conflicts)},
    {"moraine_table_flushes_total", "counter", "Memory stores written to chunks",
     FIGURE(stores.flushes)},
    {"moraine_table_compactions_total", "counter", "Compactions", FIGURE(stores.compactions)},
    {"moraine_table_compacted_bytes_in_total", "counter", "Bytes that compactions read",
     FIGURE(stores.compacted_bytes_in)},
    {"moraine_table_compacted_bytes_out_total", "counter", "Bytes that compactions wrote",
     FIGURE(stores.compacted_bytes_out)},
    {"moraine_table_chunks_dropped_unread_total", "counter",
     "Chunks in which everything had expired", FIGURE(stores.chunks_dropped_unread)},
    {"moraine_table_damaged_chunks", "gauge", "Chunks that cannot be read",
     FIGURE(stores.damaged_chunks)},
    {"moraine_table_preload_completed_chunks", "gauge", "Chunks of in-memory tables in memory",
     FIGURE(stores.preload_completed_chunks)},
    {"moraine_table_preload_pending_chunks", "gauge",
     "Chunks of in-memory tables that are not loaded yet", FIGURE(stores.preload_pending_chunks)},
    {"moraine_table_preload_failed_chunks", "gauge",
     "Chunks of in-memory tables that could not be loaded and are read from the disk",
     FIGURE(stores.preload_failed_chunks)},
    {"moraine_table_preload_failures_total", "counter",
     "Failed attempts to load chunks of in-memory tables", FIGURE(stores.preload_failures)},
    {"moraine_table_chunks", "gauge", "Chunks", FIGURE(stores.chunks)},
    {"moraine_table_partitions", "gauge", "Partitions of tablets", FIGURE(stores.partitions)},
    {"moraine_table_overlapping_stores", "gauge",
     "Stores that a read has to merge, of the worst tablet", FIGURE(stores.overlapping_stores)},
    {"moraine_table_unmerged_rows", "gauge", "Rows of all stores", FIGURE(stores.unmerged_rows)},
    {"moraine_table_compressed_bytes", "gauge", "Bytes of chunks", FIGURE(stores.compressed_bytes)},
    {"moraine_table_uncompressed_bytes", "gauge", "Uncompressed bytes of chunks",
     FIGURE(stores.uncompressed_bytes)},
    {"moraine_table_hunk_bytes", "gauge", "Bytes of hunks", FIGURE(stores.hunk_bytes)},
    {"moraine_table_memory_bytes", "gauge", "Bytes of memory stores", FIGURE(stores.memory_bytes)},
    {"moraine_table_replaced_chunks", "gauge", "Replaced chunks that scans still read",
     FIGURE(stores.replaced_chunks)},
    {"moraine_table_replaced_bytes", "gauge",
     "Bytes on disk of replaced chunks that scans still read", FIGURE(stores.replaced_bytes)},
    {"moraine_table_replaced_memory_bytes", "gauge",
     "Bytes of flushed memory stores that scans still read", FIGURE(stores.replaced_memory_bytes)},
};

#undef FIGURE

constexpr std::string_view kDuration = "yt_tablet_node_lookup_duration";

// As Prometheus wants label values: backslash, quote and line end are escaped.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

class Text {
 public:
  void head(std::string_view name, std::string_view kind, std::string_view help) {
    fmt::format_to(to(), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
  }
  template <class T>
  void sample(std::string_view name, std::string_view labels, const T& value) {
    if (labels.empty()) {
      fmt::format_to(to(), "{} {}\n", name, value);
    } else {
      fmt::format_to(to(), "{}{{{}}} {}\n", name, labels, value);
    }
  }
  // A metric without labels.
  void single(std::string_view name, std::string_view kind, std::string_view help,
              std::uint64_t value) {
    head(name, kind, help);
    sample(name, "", value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::back_insert_iterator<std::string> to() { return std::back_inserter(out_); }
  std::string out_;
};

std::string of_table(const TableFigures& table) {
  return fmt::format("table_path=\"{}\"", escaped(table.path));
}

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

void durations(std::span<const TableFigures> tables, Text& text) {
  text.head(
      kDuration, "histogram",
      "Seconds from a lookup to its answer; of those of one key in memory some are timed and stand "
      "for the others");
  const std::string bucket = fmt::format("{}_bucket", kDuration);
  for (const TableFigures& table : tables) {
    const DurationReport& report = table.lookup_duration;
    const std::string labels = of_table(table);
    for (std::size_t i = 0; i < report.below.size(); ++i) {
      const std::uint64_t bound = std::uint64_t{1} << (DurationReport::kFirstPower + i);
      text.sample(bucket, fmt::format("{},le=\"{}\"", labels, seconds(bound - 1)), report.below[i]);
    }
    text.sample(bucket, labels + ",le=\"+Inf\"", report.count);
    text.sample(fmt::format("{}_sum", kDuration), labels, seconds(report.sum));
    text.sample(fmt::format("{}_count", kDuration), labels, report.count);
  }
}

struct RankField {
  std::string_view name;
  std::string_view kind;
  std::string_view help;
  std::uint64_t (*value)(const table::SlabMemory::Rank&);
};

constexpr RankField kRankFields[] = {
    {"yt_tablet_node_row_cache_slab_allocator_lookup_alive_items", "gauge",
     "Allocations of cached rows now",
     [](const table::SlabMemory::Rank& rank) -> std::uint64_t { return rank.alive_items; }},
    {"yt_tablet_node_row_cache_slab_allocator_lookup_allocated_items_total", "counter",
     "Allocations of cached rows",
     [](const table::SlabMemory::Rank& rank) -> std::uint64_t { return rank.allocated_items; }},
    {"yt_tablet_node_row_cache_slab_allocator_lookup_freed_items_total", "counter",
     "Allocations of cached rows that were freed",
     [](const table::SlabMemory::Rank& rank) -> std::uint64_t { return rank.freed_items; }},
    {"yt_tablet_node_row_cache_slab_allocator_lookup_arena_size", "gauge",
     "Bytes of the arenas of cached rows",
     [](const table::SlabMemory::Rank& rank) -> std::uint64_t { return rank.arena_bytes; }},
};

void ranks(const TablesReport::Ranks& all, Text& text) {
  for (const RankField& field : kRankFields) {
    text.head(field.name, field.kind, field.help);
    for (const table::SlabMemory::Rank& rank : all) {
      const std::string name =
          rank.item_bytes == 0 ? std::string("large") : fmt::format("{}", rank.item_bytes);
      text.sample(field.name, fmt::format("rank=\"{}\"", name), field.value(rank));
    }
  }
}

void memory(const TablesReport& report, Text& text) {
  text.single("moraine_memory_store_bytes", "gauge", "Memory of rows that are not flushed",
              report.memory_store_bytes);
  text.single("moraine_memory_store_bytes_max", "gauge",
              "Memory of unflushed rows at which writes fail; from half of it on tablets flush",
              report.memory_store_bytes_max);
  text.single("moraine_memory_store_flushes_requested_total", "counter",
              "Flushes because all tablets together had many unflushed rows",
              report.memory_store_flushes);
  text.single("moraine_lock_history_bytes", "gauge",
              "Memory of committed locks, for conflicts of running transactions",
              report.lock_history_bytes);
  text.single("moraine_lock_history_bytes_max", "gauge",
              "Memory of committed locks above which the oldest are dropped",
              report.lock_history_bytes_max);
  text.single("moraine_transactions_open", "gauge",
              "Transactions that have begun and are neither being committed nor over",
              report.transactions_open);
  text.single("moraine_transactions_open_max", "gauge", "Limit of open transactions",
              client::kOpenTransactionsMax);
  text.single("moraine_scans_open", "gauge", "Scans that hold the stores of their start",
              report.scans_open);
  text.single("moraine_scans_open_max", "gauge", "Limit of open scans", client::kOpenScansMax);
}

void blocks(const TablesReport& report, Text& text) {
  const table::BlockCache::Statistics& cache = report.blocks;
  text.single("moraine_block_cache_bytes", "gauge", "Bytes of blocks in the cache", cache.bytes);
  text.single("moraine_block_cache_pinned_bytes", "gauge", "Bytes of blocks of in-memory tables",
              report.pinned_bytes);
  text.single("moraine_block_cache_pinned_bytes_max", "gauge",
              "Limit of the bytes of in-memory tables", report.pinned_bytes_max);
  text.single("moraine_block_cache_blocks", "gauge", "Blocks in the cache", cache.blocks);
  text.single("moraine_block_cache_inserted_total", "counter", "Blocks inserted", cache.inserted);
  text.single("moraine_block_cache_evicted_total", "counter", "Blocks evicted", cache.evicted);
}

}  // namespace

std::string to_prometheus(const TablesReport& report) {
  Text text;
  const std::span<const TableFigures> all(report.tables);
  const auto tables = all.first(std::min(all.size(), kReportedTablesMax));
  for (const Field& field : kFields) {
    text.head(field.name, field.kind, field.help);
    for (const TableFigures& table : tables) {
      text.sample(field.name, of_table(table), field.value(table));
    }
  }
  durations(tables, text);
  ranks(report.row_cache_ranks, text);
  blocks(report, text);
  memory(report, text);
  return text.take();
}

}  // namespace moraine
