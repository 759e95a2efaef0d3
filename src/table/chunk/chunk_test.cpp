// Chunks against the rows that they were made from.

#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

using Step = RowCursor::Step;

class ChunkTest : public testing::Test {
 protected:
  std::vector<std::string> scan(const ChunkReader& reader, const KeyBounds& bounds,
                                const ReadSpec& spec, bool use_cache = true) {
    std::vector<std::string> rows;
    const auto cursor = reader.scan(bounds, spec, use_cache);
    for (;;) {
      const Step step = cursor->next();
      if (step == Step::kEnd) return rows;
      if (step == Step::kRow) {
        rows.push_back(describe(cursor->row()));
        continue;
      }
      const auto loaded = run_now(cursor->load());
      EXPECT_TRUE(loaded) << loaded.error().message();
      if (!loaded) return rows;
    }
  }

  void check_all(const ChunkReader& reader, const std::vector<OwnedRow>& rows,
                 const ReadSpec& spec) {
    std::vector<std::string> expected;
    for (const OwnedRow& row : rows) {
      RowBuilder wanted;
      const bool there = expected_row(row, spec, wanted);
      if (there) expected.push_back(describe(wanted.row()));
      RowBuilder found;
      std::vector<std::pair<std::uint32_t, Slice>> pins;
      const auto answer = find_row(reader, row.key, spec, found, pins);
      ASSERT_TRUE(answer) << answer.error().message();
      ASSERT_EQ(*answer, there);
      found.key = as_bytes(row.key);
      if (there) ASSERT_EQ(describe(found.row()), expected.back());
    }
    ASSERT_EQ(scan(reader, {}, spec), expected);
  }

  TestChunks chunks_;
};

TEST_F(ChunkTest, ReturnsRandomRowsOfRandomSchemasInBothFormats) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const auto schema = std::make_shared<TableSchema>(random_schema(random));
    const std::vector<OwnedRow> rows = random_rows(*schema, random, 1 + random.below(600));
    ChunkWriteOptions options;
    options.format = random.one_in(2) ? OptimizeFor::kScan : OptimizeFor::kLookup;
    options.block_bytes = random.one_in(4) ? 512 : kLookupBlockBytes;
    options.key_filter = !random.one_in(4);
    const ChunkRecord record = chunks_.write(schema, options, rows);
    EXPECT_EQ(record.statistics.rows, rows.size());
    const auto reader = chunks_.open(record, schema);
    ASSERT_TRUE(reader) << reader.error().message();
    check_all(**reader, rows, {});
    check_all(**reader, rows, {.all_versions = true});
    check_all(**reader, rows, {.timestamp = random_timestamp(random), .all_versions = true});
    check_all(**reader, rows, {.timestamp = random_timestamp(random)});
    ColumnSet some = ColumnSet::none(schema->columns.size());
    for (std::size_t i = schema->key_count(); i < schema->columns.size(); ++i) {
      if (random.one_in(2)) some.add(static_cast<ColumnIndex>(i));
    }
    check_all(**reader, rows, {.columns = &some});
  }
}

TEST_F(ChunkTest, EveryCodecReturnsTheRows) {
  for (const char* name :
       {"none", "lz4", "lz4_high_compression", "zstd_1", "zstd_9", "zlib_6", "snappy"}) {
    SCOPED_TRACE(name);
    SeededRandom random(5);
    const auto schema = std::make_shared<TableSchema>(random_schema(random));
    const std::vector<OwnedRow> rows = random_rows(*schema, random, 300);
    for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
      const ChunkRecord record =
          chunks_.write(schema, {.format = format, .codec = *parse_codec(name)}, rows);
      const auto reader = chunks_.open(record, schema);
      ASSERT_TRUE(reader) << reader.error().message();
      check_all(**reader, rows, {.all_versions = true});
    }
  }
}

TEST_F(ChunkTest, EqualRowsGiveEqualBytes) {
  for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    SeededRandom random(9);
    const auto schema = std::make_shared<TableSchema>(random_schema(random));
    const std::vector<OwnedRow> rows = random_rows(*schema, random, 500);
    const ChunkRecord a = chunks_.write(schema, {.format = format}, rows);
    const ChunkRecord b = chunks_.write(schema, {.format = format}, rows);
    ASSERT_EQ(a.data.size(), b.data.size());
    for (std::size_t i = 0; i < a.data.size(); ++i) {
      EXPECT_TRUE(equal(chunks_.blobs.blobs.at(a.data[i]), chunks_.blobs.blobs.at(b.data[i])));
    }
    EXPECT_TRUE(equal(chunks_.blobs.blobs.at(a.meta), chunks_.blobs.blobs.at(b.meta)));
  }
}

TEST_F(ChunkTest, AScanKeepsToItsBoundsAndToTheRecords) {
  for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    SeededRandom random(21);
    const auto schema = std::make_shared<TableSchema>(random_schema(random));
    const std::vector<OwnedRow> rows = random_rows(*schema, random, 400);
    ChunkRecord record = chunks_.write(schema, {.format = format, .block_bytes = 600}, rows);
    const auto reader = chunks_.open(record, schema);
    record.from = rows[100].key;
    record.to = rows[300].key;
    const auto cut = chunks_.open(record, schema);
    ASSERT_TRUE(reader && cut);
    const ReadSpec all{.all_versions = true};
    for (int i = 0; i < 40; ++i) {
      const std::size_t from = random.below(rows.size());
      const std::size_t to = random.below(rows.size() + 1);
      const KeyBounds bounds{rows[from].key, to == rows.size() ? "" : rows[to].key};
      std::vector<std::string> expected;
      std::vector<std::string> expected_cut;
      for (std::size_t row = from; row < to; ++row) {
        expected.push_back(describe(rows[row].row()));
        if (row >= 100 && row < 300) expected_cut.push_back(expected.back());
      }
      ASSERT_EQ(scan(**reader, bounds, all), expected);
      ASSERT_EQ(scan(**cut, bounds, all, false), expected_cut);
    }
    RowBuilder out;
    std::vector<std::pair<std::uint32_t, Slice>> pins;
    EXPECT_FALSE(*find_row(**cut, rows[99].key, all, out, pins));
    EXPECT_TRUE(*find_row(**cut, rows[100].key, all, out, pins));
    EXPECT_FALSE(*find_row(**cut, rows[300].key, all, out, pins));
  }
}

TEST_F(ChunkTest, StatisticsCountWhatIsThere) {
  SeededRandom random(3);
  const auto schema = std::make_shared<TableSchema>(random_schema(random));
  const std::vector<OwnedRow> rows = random_rows(*schema, random, 200);
  const ChunkStatistics s = chunks_.write(schema, {}, rows).statistics;
  std::uint64_t values = 0;
  std::uint64_t deletes = 0;
  for (const OwnedRow& row : rows) {
    values += row.builder.values.size();
    deletes += row.builder.delete_timestamps.size();
  }
  EXPECT_EQ(s.rows, rows.size());
  EXPECT_EQ(s.values, values);
  EXPECT_EQ(s.deletes, deletes);
  EXPECT_EQ(s.first_key, rows.front().key);
  EXPECT_EQ(s.last_key, rows.back().key);
  EXPECT_GT(s.data_bytes, 0u);
  EXPECT_LE(s.min_timestamp, s.max_timestamp);
}

TEST_F(ChunkTest, AnAbsentKeyIsMostlyExcludedByTheFilterAlone) {
  SeededRandom random(4);
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const std::vector<OwnedRow> rows = plain_rows(3'000);
  const auto reader = chunks_.open(chunks_.write(schema, {}, rows), schema);
  ASSERT_TRUE(reader);
  for (std::int64_t i = 0; i < 1'000; ++i) {
    RowBuilder out;
    std::vector<std::pair<std::uint32_t, Slice>> pins;
    const auto found =
        find_row(**reader, encode_key(std::vector<Value>{Value(2 * i + 1)}), {}, out, pins);
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found);
  }
  EXPECT_GT(chunks_.statistics.get(ChunkReadCounters::kFilteredKeys), 980u);
  EXPECT_EQ(chunks_.statistics.get(ChunkReadCounters::kFilteredKeys) +
                chunks_.statistics.get(ChunkReadCounters::kFilterFalsePositives),
            1'000u);
}

TEST_F(ChunkTest, AScanReadsManyBlocksAtOnce) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const std::vector<OwnedRow> rows = plain_rows(20'000);
  const auto reader = chunks_.open(chunks_.write(schema, {}, rows), schema);
  ASSERT_TRUE(reader);
  EXPECT_EQ(scan(**reader, {}, {}, false).size(), rows.size());
  EXPECT_LE(chunks_.blobs.reads, 8u);
  EXPECT_EQ(chunks_.cache.statistics().blocks, 0u) << "read past the cache";
}

TEST_F(ChunkTest, APreloadedChunkIsReadWithoutTheDevice) {
  for (const auto& [compressed, packed_cache] :
       {std::pair(false, false), std::pair(true, true), std::pair(true, false)}) {
    for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
      chunks_.with_packed = packed_cache;
      chunks_.pins_compressed = compressed;
      const auto schema = std::make_shared<TableSchema>(plain_schema());
      const std::vector<OwnedRow> rows = plain_rows(2'000);
      const auto reader = chunks_.open(chunks_.write(schema, {.format = format}, rows), schema);
      ASSERT_TRUE(reader);
      ASSERT_TRUE(run_now((*reader)->preload()));
      std::uint64_t stored = 0;
      for (const blob::BlobId& blob : (*reader)->record().data) stored += blob.size();
      const std::size_t pinned =
          (packed_cache ? chunks_.packed : chunks_.cache).statistics().pinned_bytes;
      if (compressed) EXPECT_LE(pinned, stored);
      if (!compressed) EXPECT_GT(pinned, stored);
      const std::size_t reads = chunks_.blobs.reads;
      check_all(**reader, rows, {});
      EXPECT_EQ(chunks_.blobs.reads, reads);
    }
  }
}

TEST_F(ChunkTest, SplitKeysCutItIntoEqualParts) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const std::vector<OwnedRow> rows = plain_rows(20'000);
  const auto reader = chunks_.open(chunks_.write(schema, {}, rows), schema);
  ASSERT_TRUE(reader);
  const std::vector<std::string> keys = (*reader)->split_keys(4);
  ASSERT_EQ(keys.size(), 3u);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::vector<Value> columns;
    std::string memory;
    ASSERT_TRUE(decode_key(as_bytes(keys[i]), columns, memory));
    EXPECT_NEAR(static_cast<double>(columns[0].as_int64()), 10'000.0 * static_cast<double>(i + 1),
                1'000);
  }
  EXPECT_TRUE((*reader)->split_keys(1).empty());
}

TEST_F(ChunkTest, ARowLargerThanABlobIsKeptInSeveral) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  SeededRandom random(8);
  std::string noise(kChunkBlobBytesMax + 100'000, '\0');
  for (char& c : noise) c = static_cast<char>(random.next());
  for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    std::vector<OwnedRow> rows = plain_rows(3);
    rows[1].builder.values[1].value = Value(rows[1].keep(noise));
    const ChunkRecord record = chunks_.write(schema, {.format = format}, rows);
    EXPECT_GE(record.data.size(), 2u);
    const auto reader = chunks_.open(record, schema);
    ASSERT_TRUE(reader);
    check_all(**reader, rows, {.all_versions = true});
  }
}

}  // namespace
}  // namespace moraine::table
