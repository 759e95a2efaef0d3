#include "node/tables_report.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace moraine {
namespace {

TablesReport sample() {
  TablesReport report;
  TableFigures& table = report.tables.emplace_back();
  table.path = "/a\"b";
  table.row_cache.hits = 3;
  table.row_cache.misses = 4;
  table.row_cache.inserts = 2;
  table.row_cache.outdated = 1;
  table.lookup.rows = 7;
  table.lookup.retries = 6;
  table.lookup_chunks.disk_bytes = 4096;
  table.lookup_chunks.transmitted_bytes = 1024;
  table.lookup_hunks.disk_bytes = 100;
  table.lookup_hunks.transmitted_bytes = 99;
  table.select_chunks.disk_bytes = 77;
  table.stores.preload_failed_chunks = 5;
  table.stores.commits = 9;
  ThreadHistogram durations;
  durations.observe(2'000);
  durations.observe(5'000'000);
  table.lookup_duration.add(durations);
  report.row_cache_ranks[0] = {16, 5, 8, 3, 65'536};
  report.row_cache_ranks.back() = {0, 1, 1, 0, 100'000};
  report.memory_store_bytes = 11;
  report.memory_store_bytes_max = 12;
  report.memory_store_flushes = 13;
  report.lock_history_bytes = 14;
  report.lock_history_bytes_max = 15;
  report.transactions_open = 16;
  report.scans_open = 17;
  return report;
}

bool has(const std::string& text, const std::string& line) {
  return text.find(line + "\n") != std::string::npos;
}

// The sensors that are described for users of the lookup cache, as docs/operations.md maps them.
TEST(TablesReport, EverySensorOfTheLookupCacheIsAMetric) {
  const std::string text = to_prometheus(sample());
  for (const std::string_view sensor :
       {"lookup.chunk_reader_statistics.data_bytes_read_from_disk.rate",
        "lookup.chunk_reader_statistics.data_bytes_read_from_cache.rate",
        "lookup.chunk_reader_statistics.data_bytes_transmitted.rate",
        "lookup.hunks.chunk_reader_statistics.data_bytes_read_from_disk.rate",
        "lookup.hunks.chunk_reader_statistics.data_bytes_transmitted.rate", "lookup.duration",
        "lookup.cache_hits.rate", "lookup.cache_misses.rate", "lookup.cache_inserts.rate",
        "lookup.cache_outdated.rate", "row_cache.slab_allocator.lookup.alive_items",
        "row_cache.slab_allocator.lookup.allocated_items.rate",
        "row_cache.slab_allocator.lookup.freed_items.rate",
        "row_cache.slab_allocator.lookup.arena_size"}) {
    std::string metric = "yt_tablet_node_" + std::string(sensor);
    std::ranges::replace(metric, '.', '_');
    constexpr std::string_view kRate = "_rate";
    if (metric.ends_with(kRate)) {
      metric.resize(metric.size() - kRate.size());
      metric += "_total";
    }
    EXPECT_NE(text.find("# TYPE " + metric + " "), std::string::npos) << sensor;
  }
}

TEST(TablesReport, HasTheSensorsOfTheLookupCacheTaggedWithTheTable) {
  const std::string text = to_prometheus(sample());
  const std::string tag = R"({table_path="/a\"b"} )";
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_cache_hits_total" + tag + "3")) << text;
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_cache_misses_total" + tag + "4"));
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_cache_inserts_total" + tag + "2"));
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_cache_outdated_total" + tag + "1"));
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_row_count_total" + tag + "7"));
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_retry_count_total" + tag + "6"));
  EXPECT_TRUE(
      has(text, "yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_read_from_disk_total" +
                    tag + "4096"));
  EXPECT_TRUE(has(text,
                  "yt_tablet_node_lookup_hunks_chunk_reader_statistics_data_bytes_read_from_disk_"
                  "total" +
                      tag + "100"));
  EXPECT_TRUE(has(text, "moraine_table_commits_total" + tag + "9"));
  EXPECT_TRUE(has(
      text,
      "yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_transmitted_total" + tag + "1024"));
  EXPECT_TRUE(
      has(text, "yt_tablet_node_lookup_hunks_chunk_reader_statistics_data_bytes_transmitted_total" +
                    tag + "99"));
  EXPECT_TRUE(
      has(text, "yt_tablet_node_select_chunk_reader_statistics_data_bytes_read_from_disk_total" +
                    tag + "77"));
  EXPECT_TRUE(has(text, "moraine_table_preload_failed_chunks" + tag + "5"));
}

TEST(TablesReport, HasSlabFiguresByRank) {
  const std::string text = to_prometheus(sample());
  const std::string name = "yt_tablet_node_row_cache_slab_allocator_lookup_";
  EXPECT_TRUE(has(text, name + "alive_items{rank=\"16\"} 5")) << text;
  EXPECT_TRUE(has(text, name + "allocated_items_total{rank=\"16\"} 8"));
  EXPECT_TRUE(has(text, name + "freed_items_total{rank=\"16\"} 3"));
  EXPECT_TRUE(has(text, name + "arena_size{rank=\"large\"} 100000"));
}

TEST(TablesReport, HasDurationsAsAHistogramInSeconds) {
  const std::string text = to_prometheus(sample());
  const std::string name = "yt_tablet_node_lookup_duration";
  EXPECT_TRUE(has(text, "# TYPE " + name + " histogram"));
  EXPECT_TRUE(has(text, name + R"(_count{table_path="/a\"b"} 2)"));
  EXPECT_TRUE(has(text, name + R"(_bucket{table_path="/a\"b",le="+Inf"} 2)"));
  EXPECT_NE(text.find(name + R"(_bucket{table_path="/a\"b",le="2.047e-06"} 1)"), std::string::npos)
      << text;
}

TEST(TablesReport, HasTheSharedMemoryOfTheNode) {
  const std::string text = to_prometheus(sample());
  EXPECT_TRUE(has(text, "moraine_memory_store_bytes 11")) << text;
  EXPECT_TRUE(has(text, "moraine_memory_store_bytes_max 12"));
  EXPECT_TRUE(has(text, "moraine_memory_store_flushes_requested_total 13"));
  EXPECT_TRUE(has(text, "moraine_lock_history_bytes 14"));
  EXPECT_TRUE(has(text, "moraine_lock_history_bytes_max 15"));
  EXPECT_TRUE(has(text, "moraine_transactions_open 16"));
  EXPECT_TRUE(has(text, "moraine_scans_open 17"));
}

TEST(TablesReport, HasTheFirstTablesUpToTheBound) {
  TablesReport report = sample();
  report.tables.resize(kReportedTablesMax + 5, report.tables.front());
  const std::string text = to_prometheus(report);
  std::size_t lines = 0;
  const std::string name = "\nmoraine_table_commits_total{";
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, kReportedTablesMax);
}

TEST(TablesReport, EveryFamilyIsReportedOnce) {
  std::istringstream lines(to_prometheus(sample()));
  std::set<std::string> families;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) EXPECT_TRUE(families.insert(line).second) << line;
  }
  EXPECT_GT(families.size(), 40u);
}

}  // namespace
}  // namespace moraine
