// The rules of the row cache (lookup cache) and of the key filter, one test each, through the
// public API.

#include <fmt/format.h>

#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr std::int64_t kRows = 200;

class CacheRules : public DatabaseTest {
 protected:
  static TableOptions cached(double ratio, bool by_default) {
    TableOptions options;
    options.mount.lookup_cache_rows_ratio = ratio;
    options.mount.enable_lookup_cache_by_default = by_default;
    return options;
  }
  // kRows rows in a chunk, keys from 0 by step_.
  Table make(const TableOptions& options, std::uint32_t inline_bytes = 0) {
    TableSchema schema;
    schema.columns = {column("k", ColumnType::kInt64, true), column("v", ColumnType::kString)};
    if (inline_bytes > 0) schema.columns[1].max_inline_hunk_size = inline_bytes;
    expect_ok(db_->run(db_->create_table("/t", schema, options)));
    auto table = db_->table("/t");
    EXPECT_TRUE(table) << table.error().message();
    auto tx = db_->begin();
    for (std::int64_t k = 0; k < kRows * step_; k += step_) {
      expect_ok(tx->insert(*table, {{"k", k}, {"v", text_}}));
    }
    EXPECT_TRUE(tx->commit());
    expect_ok(db_->run(db_->flush_table("/t")));
    expect_ok(db_->run(db_->settle_table("/t")));
    return std::move(*table);
  }
  bool read(const Table& table, std::int64_t key, std::optional<bool> use_cache = {}) {
    ReadOptions options;
    options.use_lookup_cache = use_cache;
    Rowset rows;
    expect_ok(table.lookup({Value(key)}, options, rows));
    return rows.exists(0);
  }
  std::uint64_t metric(const std::string& name) {
    const std::string text = db_->run(db_->metrics());
    const std::string line = "\nyt_tablet_node_lookup_" + name + "_total{table_path=\"/t\"} ";
    const std::size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + line.size()));
  }

  std::string text_ = std::string(100, 'x');
  std::int64_t step_ = 1;
};

TEST_F(CacheRules, ALookupThatSaysNothingFollowsTheTablesDefault) {
  const Table table = make(cached(1, true));
  EXPECT_TRUE(read(table, 1));
  EXPECT_TRUE(read(table, 1));
  EXPECT_EQ(metric("cache_misses"), 1u);
  EXPECT_EQ(metric("cache_inserts"), 1u);
  EXPECT_EQ(metric("cache_hits"), 1u);
}

TEST_F(CacheRules, ByDefaultATableDoesNotUseIt) {
  const Table table = make(cached(1, false));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(read(table, 1));
  EXPECT_EQ(metric("cache_misses") + metric("cache_inserts") + metric("cache_hits"), 0u);
}

TEST_F(CacheRules, ALookupThatAsksForItUsesItWhateverTheDefault) {
  const Table table = make(cached(1, false));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(read(table, 1, true));
  EXPECT_EQ(metric("cache_hits"), 2u);
}

TEST_F(CacheRules, ALookupThatDeclinesItNeitherReadsNorFillsIt) {
  const Table table = make(cached(1, true));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(read(table, 1, false));
  EXPECT_EQ(metric("cache_misses") + metric("cache_inserts") + metric("cache_hits"), 0u);
}

TEST_F(CacheRules, WithoutAShareOfRowsNothingIsCached) {
  const Table table = make(cached(0, true));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(read(table, 1, true));
  EXPECT_EQ(metric("cache_inserts") + metric("cache_hits"), 0u);
}

TEST_F(CacheRules, ARemountTurnsItOn) {
  const Table table = make({});
  EXPECT_TRUE(read(table, 1));
  expect_ok(db_->run(db_->remount_table("/t", cached(1, true).mount)));
  EXPECT_TRUE(read(table, 1));
  EXPECT_TRUE(read(table, 1));
  EXPECT_EQ(metric("cache_hits"), 1u);
}

TEST_F(CacheRules, AFixedNumberOfRowsForEachTabletIsUnderstoodToo) {
  TableOptions options = cached(0, true);
  options.mount.lookup_cache_rows_per_tablet = 50;
  const Table table = make(options);
  EXPECT_TRUE(read(table, 1));
  EXPECT_TRUE(read(table, 1));
  EXPECT_EQ(metric("cache_hits"), 1u);
}

TEST_F(CacheRules, ItKeepsTheConfiguredShareOfRows) {
  const Table table = make(cached(0.1, true));
  for (std::int64_t k = 0; k < kRows; ++k) EXPECT_TRUE(read(table, k));
  const std::string text = db_->run(db_->metrics());
  const std::string line = "\nmoraine_table_row_cache_rows{table_path=\"/t\"} ";
  ASSERT_NE(text.find(line), std::string::npos);
  EXPECT_LE(std::stoull(text.substr(text.find(line) + line.size())), kRows / 10);
}

TEST_F(CacheRules, KeysThatAreNotThereAreMissesThatInsertNothing) {
  const Table table = make(cached(1, true));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(read(table, kRows + 7));
  EXPECT_EQ(metric("cache_misses"), 3u);
  EXPECT_EQ(metric("cache_inserts"), 0u);
  EXPECT_EQ(metric("missing_row_count"), 3u);
}

TEST_F(CacheRules, OfATableInMemoryItKeepsWhatHunksHold) {
  TableOptions options = cached(1, true);
  options.in_memory_mode = InMemoryMode::kUncompressed;
  text_ = std::string(20'000, 'h');
  const Table table = make(options, 100);
  EXPECT_TRUE(read(table, 5));
  const std::uint64_t before = metric("hunks_chunk_reader_statistics_data_bytes_read_from_disk");
  EXPECT_GE(before, text_.size());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(read(table, 5));
  EXPECT_EQ(metric("hunks_chunk_reader_statistics_data_bytes_read_from_disk"), before);
}

// Even keys exist, so that the bounds of the chunk do not rule out odd ones.
TEST_F(CacheRules, TheKeyFilterTurnsMissingKeysAwayWithoutReadingABlock) {
  step_ = 2;
  make({});
  reopen();
  const auto table = db_->table("/t");
  ASSERT_TRUE(table) << table.error().message();
  const std::uint64_t before = metric("chunk_reader_statistics_data_bytes_read_from_disk");
  // A filter has about one false positive in 256 keys.
  for (std::int64_t k = 1; k < kRows; k += 2) EXPECT_FALSE(read(*table, k));
  EXPECT_GE(metric("key_filter_filtered_out_key_count"), 95u);
  if (metric("key_filter_false_positive_key_count") > 0) return;
  EXPECT_EQ(metric("chunk_reader_statistics_data_bytes_read_from_disk"), before);
}

TEST_F(CacheRules, MemoryIsReportedForEverySizeOfItem) {
  make(cached(1, true));
  const std::string text = db_->run(db_->metrics());
  for (const char* name :
       {"alive_items", "allocated_items_total", "freed_items_total", "arena_size"}) {
    for (const char* rank :
         {"16",   "32",   "48",   "64",   "96",   "128",  "192",   "256",   "384",   "512",  "768",
          "1536", "2048", "3072", "4096", "6144", "8192", "12288", "16384", "32768", "large"}) {
      const std::string line = fmt::format(
          "\nyt_tablet_node_row_cache_slab_allocator_lookup_{}{{rank=\"{}\"}} ", name, rank);
      EXPECT_NE(text.find(line), std::string::npos) << line;
    }
  }
}

}  // namespace
}  // namespace moraine
