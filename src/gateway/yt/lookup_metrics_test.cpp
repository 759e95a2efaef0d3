// The sensors of lookups and of the lookup cache count what clients of the API do.
#include <map>
#include <sstream>

#include "client/table_changes.h"
#include "gateway/yt/yt_test_util.h"
#include "node/tables_report.h"

namespace moraine::yt {
namespace {

TableSchema three_columns() {
  TableSchema schema;
  schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                    {.name = "v", .type = ColumnType::kString},
                    {.name = "w", .type = ColumnType::kString}};
  return schema;
}

class LookupMetrics : public YtTest {
 protected:
  // Ten rows in a chunk, none in memory.
  void fill(TableOptions options) {
    create_table("t", three_columns(), {}, std::move(options));
    std::string rows;
    for (int i = 0; i < 10; ++i) rows += fmt::format("{{k={};v=old;w=x}};", i);
    result("insert_rows", path_, rows);
    const auto flushed = on_tables([](Tables& tables) { return client::flush_table(tables, "t"); });
    ASSERT_TRUE(flushed) << flushed.error().message();
    last_ = figures();
  }
  void lookup(const std::string& keys, const std::string& more = "") {
    result("lookup_rows", R"({"path":"//t")" + more + "}", keys);
  }
  // Of table "t", or of all ranks; by the name after yt_tablet_node_.
  std::map<std::string, double> figures() {
    const auto report = node_.on_lane<TablesReport>(
        0, [this]() -> Task<TablesReport> { return report_tables(node_.node().tables()); });
    std::map<std::string, double> sums;
    std::istringstream lines(to_prometheus(report));
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kBegin = "yt_tablet_node_";
      if (!line.starts_with(kBegin) || line.contains("_bucket")) continue;
      const std::size_t end = line.find('{');
      sums[line.substr(kBegin.size(), end - kBegin.size())] +=
          std::stod(line.substr(line.find("} ") + 2));
    }
    return sums;
  }
  // The increase since the last call.
  std::map<std::string, double> increases() {
    std::map<std::string, double> now = figures();
    std::map<std::string, double> more;
    for (const auto& [name, value] : now) more[name] = value - last_[name];
    last_ = std::move(now);
    return more;
  }

  const std::string path_ = R"({"path":"//t"})";
  std::map<std::string, double> last_;
};

TEST_F(LookupMetrics, KeysAreCountedBeforeAndAfterStoresAreMerged) {
  fill({});
  result("insert_rows", R"({"path":"//t","update":true})", "{k=1;v=new}");
  increases();
  // In memory and in the chunk; in the chunk; in neither.
  lookup("{k=1};{k=2};{k=99}");
  auto more = increases();
  EXPECT_EQ(more["lookup_row_count_total"], 2);
  EXPECT_EQ(more["lookup_missing_row_count_total"], 1);
  EXPECT_EQ(more["lookup_unmerged_row_count_total"], 3);
  EXPECT_EQ(more["lookup_unmerged_missing_row_count_total"], 3);
  EXPECT_EQ(more["lookup_duration_count"], 1);
  EXPECT_GT(more["lookup_duration_sum"], 0);
  EXPECT_GT(more["lookup_data_weight_total"], 0);
  // The old value of v, and the key once more.
  EXPECT_GE(more["lookup_wasted_unmerged_data_weight_total"], 3);
  EXPECT_EQ(more["lookup_unmerged_data_weight_total"],
            more["lookup_data_weight_total"] + more["lookup_wasted_unmerged_data_weight_total"]);

  lookup("{k=2}");
  more = increases();
  EXPECT_EQ(more["lookup_wasted_unmerged_data_weight_total"], 0);
  EXPECT_EQ(more["lookup_unmerged_data_weight_total"], more["lookup_data_weight_total"]);
}

TEST_F(LookupMetrics, BytesComeFromTheDiskOnceAndThenFromTheCache) {
  fill({});
  lookup("{k=3}");
  auto more = increases();
  const std::string chunks = "lookup_chunk_reader_statistics_data_bytes_read_from_";
  const double first = more[chunks + "disk_total"] + more[chunks + "cache_total"];
  EXPECT_GT(first, 0);
  lookup("{k=3}");
  more = increases();
  EXPECT_EQ(more[chunks + "disk_total"], 0);
  EXPECT_GT(more[chunks + "cache_total"], 0);
}

TEST_F(LookupMetrics, KeyFiltersAreCounted) {
  TableOptions options;
  options.mount.enable_key_filter_for_lookup = true;
  fill(options);
  lookup("{k=3}");
  auto more = increases();
  EXPECT_EQ(more["lookup_key_filter_filtered_out_key_count_total"], 0);
  lookup("{k=5};{k=-7};{k=77}");
  more = increases();
  EXPECT_LE(more["lookup_key_filter_filtered_out_key_count_total"] +
                more["lookup_key_filter_false_positive_key_count_total"],
            more["lookup_key_filter_input_key_count_total"]);
}

TEST_F(LookupMetrics, TheCacheCountsHitsMissesAndInserts) {
  TableOptions options;
  options.mount.lookup_cache_rows_per_tablet = 100;
  fill(options);
  // Without the cache: its sensors stay.
  lookup("{k=1};{k=2}");
  auto more = increases();
  EXPECT_EQ(more["lookup_cache_hits_total"], 0);
  EXPECT_EQ(more["lookup_cache_misses_total"], 0);

  lookup("{k=1};{k=2};{k=99}", R"(,"use_lookup_cache":true)");
  more = increases();
  EXPECT_EQ(more["lookup_cache_hits_total"], 0);
  EXPECT_EQ(more["lookup_cache_misses_total"], 3);
  EXPECT_EQ(more["lookup_cache_inserts_total"], 2);  // A missing row is not kept.
  EXPECT_GE(more["row_cache_slab_allocator_lookup_allocated_items_total"], 2);
  EXPECT_GE(more["row_cache_slab_allocator_lookup_alive_items"], 2);
  EXPECT_GT(figures()["row_cache_slab_allocator_lookup_arena_size"], 0);

  lookup("{k=1};{k=2};{k=3}", R"(,"use_lookup_cache":true)");
  more = increases();
  EXPECT_EQ(more["lookup_cache_hits_total"], 2);
  EXPECT_EQ(more["lookup_cache_misses_total"], 1);
  EXPECT_EQ(more["lookup_cache_inserts_total"], 1);
  EXPECT_EQ(more["lookup_row_count_total"], 3);
  EXPECT_EQ(more["lookup_unmerged_row_count_total"], 3);
  EXPECT_EQ(more["lookup_cache_outdated_total"], 0);
}

}  // namespace
}  // namespace moraine::yt
