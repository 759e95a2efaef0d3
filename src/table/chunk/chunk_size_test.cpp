// Long keys and large rows that a chunk writer must accept.

#include <gtest/gtest.h>

#include "table/chunk/chunk_meta.h"
#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"

namespace moraine::table {
namespace {

using Step = RowCursor::Step;

TableSchema text_key_schema(std::size_t values, ColumnType type) {
  TableSchema schema;
  schema.columns.push_back({.name = "k", .type = ColumnType::kString, .key = true});
  for (std::size_t i = 0; i < values; ++i) {
    schema.columns.push_back({.name = fmt::format("v{}", i), .type = type});
  }
  return schema;
}

// A write of every value column at each of the timestamps.
OwnedRow versions_of(std::string_view key, std::size_t columns, std::size_t versions,
                     const Value& value) {
  OwnedRow row;
  const Value keys[] = {Value(key)};
  row.key = encode_key(keys);
  for (std::size_t v = 0; v < versions; ++v) {
    row.builder.write_timestamps.push_back(kTestTimestamp + versions - v);
  }
  for (std::size_t column = 1; column <= columns; ++column) {
    for (const Timestamp at : row.builder.write_timestamps) {
      row.builder.values.push_back(
          {.value = value, .timestamp = at, .column = static_cast<ColumnIndex>(column)});
    }
  }
  return row;
}

class ChunkSize : public testing::TestWithParam<OptimizeFor> {
 protected:
  std::vector<std::string> scan(const ChunkReader& reader) {
    std::vector<std::string> rows;
    const auto cursor = reader.scan({}, {.all_versions = true}, true);
    for (Step step = cursor->next(); step != Step::kEnd; step = cursor->next()) {
      if (step == Step::kRow) {
        rows.push_back(describe(cursor->row()));
      } else {
        const auto loaded = run_now(cursor->load());
        EXPECT_TRUE(loaded) << loaded.error().message();
        if (!loaded) break;
      }
    }
    return rows;
  }
  TestChunks chunks_;
};

// Keys of `key_bytes` that differ at the end, as many as fit one chunk; without a codec.
void write_long_keys(TestChunks& chunks, OptimizeFor format, std::size_t key_bytes) {
  const auto schema = std::make_shared<TableSchema>(text_key_schema(1, ColumnType::kInt64));
  ChunkWriter writer(schema, {.format = format, .codec = {.kind = CodecKind::kNone}});
  std::size_t rows = 0;
  SeededRandom random(key_bytes);
  while (writer.bytes() < kChunkBytesMax / 4) {
    std::string key = fmt::format("{:08}", rows++);
    while (key.size() < key_bytes) key += static_cast<char>('a' + random.below(26));
    ASSERT_TRUE(writer.add(versions_of(key, 1, 1, Value(std::int64_t{1})).row()));
  }
  ASSERT_GT(rows * key_bytes, 2 * kMetaBytesMax);
  const ChunkRecord record = chunks.finish(writer, format);
  EXPECT_LE(record.statistics.meta_bytes, kMetaBytesMax);
  const auto reader = chunks.open(record, schema);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_GE((*reader)->split_keys(4).size(), 3u);
}

TEST_P(ChunkSize, SamplesOfLongKeysFitItsMeta) {
  write_long_keys(chunks_, GetParam(), 60'000);
  write_long_keys(chunks_, GetParam(), kKeyBytesMax - 100);
}

TEST_P(ChunkSize, ARowIsMeasuredByTheBytesThatItTakesInTheChunk) {
  constexpr std::size_t kColumns = 200;
  constexpr std::size_t kVersions = 100;
  for (const ColumnType type : {ColumnType::kString, ColumnType::kBoolean}) {
    const auto schema = std::make_shared<TableSchema>(text_key_schema(kColumns, type));
    const Value value = type == ColumnType::kString ? Value() : Value(true);
    const OwnedRow row = versions_of("wide", kColumns, kVersions, value);
    ChunkWriteOptions options{.format = GetParam()};
    // At most seven bytes per cell, and ten per version.
    options.row_bytes_max = kColumns * kVersions * 7 + kVersions * 10;
    ChunkWriter writer(schema, options);
    const auto added = writer.add(row.row());
    ASSERT_TRUE(added) << added.error().message();
    const auto reader = chunks_.open(chunks_.finish(writer, GetParam()), schema);
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(scan(**reader), std::vector{describe(row.row())});
    options.row_bytes_max = kColumns * kVersions;
    ChunkWriter refusing(schema, options);
    const auto refused = refusing.add(row.row());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  }
}

TEST_P(ChunkSize, LargeRowsAreKnownByTheirKeys) {
  const auto schema = std::make_shared<TableSchema>(text_key_schema(1, ColumnType::kString));
  const std::string text(1'000'000, 'x');
  std::vector<OwnedRow> rows;
  rows.push_back(versions_of("a", 1, 3, Value("small")));
  rows.push_back(versions_of("b", 1, 12, Value(std::string_view(text))));
  rows.push_back(versions_of("c", 1, 3, Value("small")));
  const auto reader = chunks_.open(chunks_.write(schema, {.format = GetParam()}, rows), schema);
  ASSERT_TRUE(reader) << reader.error().message();
  const auto bytes = [&](std::string_view key) {
    const Value keys[] = {Value(key)};
    return (*reader)->large_row_bytes(as_bytes(encode_key(keys)));
  };
  EXPECT_EQ(bytes("a"), 0u);
  EXPECT_GE(bytes("b"), 12 * text.size());
  EXPECT_LT(bytes("b"), 12 * text.size() + 10'000);
  EXPECT_EQ(bytes("bb"), 0u);  // In the range of the same unit.
  EXPECT_EQ(bytes("c"), 0u);
  EXPECT_EQ((*reader)->largest_row_bytes(), bytes("b"));
  EXPECT_EQ(scan(**reader).size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Formats, ChunkSize,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan));

}  // namespace
}  // namespace moraine::table
