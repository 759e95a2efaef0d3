// TablesReport: statistics of all tables of a node at one moment, and their Prometheus text.
//
// Names are those of YTsaurus' sensors with dots as underscores, `yt_tablet_node_...`, tagged with
// the table's path; metrics without such a name begin with `moraine_`.
//
// Promise    Plain values, without references to the tables. Rendering is pure: equal reports
//            produce equal text. Counters are reset when a tablet restarts.
// Limits     The first kReportedTablesMax tables of a node are reported separately.
// Tests      tables_report_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "node/table_services.h"

namespace moraine {

inline constexpr std::size_t kReportedTablesMax = 1'000;

// Rows returned by one kind of reads.
struct ReadReport {
  std::uint64_t rows = 0;
  std::uint64_t missing_rows = 0;
  // Of single stores, before rows are merged.
  std::uint64_t unmerged_rows = 0;
  std::uint64_t unmerged_missing_rows = 0;
  std::uint64_t data_weight = 0;
  std::uint64_t unmerged_data_weight = 0;
  std::uint64_t requests = 0;
  std::uint64_t waits = 0;
  std::uint64_t retries = 0;
  // What was read and not returned.
  std::uint64_t wasted_data_weight() const {
    return unmerged_data_weight > data_weight ? unmerged_data_weight - data_weight : 0;
  }
  void add(const table::LookupStatistics& statistics);
};

// Bytes read by one kind of reads.
struct ChunkReadReport {
  std::uint64_t disk_bytes = 0;
  std::uint64_t transmitted_bytes = 0;
  std::uint64_t cache_bytes = 0;
  std::uint64_t filter_keys = 0;
  std::uint64_t filtered_keys = 0;
  std::uint64_t filter_false_positives = 0;
  void add(const table::ChunkReadCounters& counters);
};

struct DurationReport {
  // Buckets end at 2^10, 2^11, ... 2^36 nanoseconds: about 1 us to 69 s.
  static constexpr std::uint32_t kFirstPower = 10;
  static constexpr std::uint32_t kLastPower = 36;
  std::array<std::uint64_t, kLastPower - kFirstPower + 1> below{};
  std::uint64_t count = 0;
  std::uint64_t sum = 0;  // Nanoseconds.
  void add(const ThreadHistogram& durations);
};

struct TableFigures {
  std::string path;
  std::uint64_t tablets = 0;
  std::uint64_t tablets_running = 0;
  table::TabletStatistics stores;  // Sums of all running tablets.
  table::RowCache::Statistics row_cache;
  ReadReport lookup;
  ReadReport select;
  ChunkReadReport lookup_chunks;
  ChunkReadReport lookup_hunks;
  ChunkReadReport select_chunks;
  ChunkReadReport select_hunks;
  ChunkReadReport background_chunks;  // Compactions, preloading.
  DurationReport lookup_duration;
  void add(table::TableTablet& tablet);
};

struct TablesReport {
  using Ranks = std::array<table::SlabMemory::Rank, table::kSlabClasses.size() + 1>;
  std::vector<TableFigures> tables;  // By path.
  Ranks row_cache_ranks;
  table::BlockCache::Statistics blocks;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t pinned_bytes_max = 0;
  // Of all tablets.
  std::uint64_t memory_store_bytes = 0;
  std::uint64_t memory_store_bytes_max = 0;
  std::uint64_t memory_store_flushes = 0;  // Requested because all tablets had too much.
  std::uint64_t lock_history_bytes = 0;
  std::uint64_t lock_history_bytes_max = 0;
  // Of all clients of the node.
  std::uint64_t transactions_open = 0;
  std::uint64_t scans_open = 0;
};

// On the control lane; visits the lanes of the tablets.
Task<TablesReport> report_tables(TableServices& services);
// Prometheus text, version 0.0.4.
std::string to_prometheus(const TablesReport& report);

}  // namespace moraine
