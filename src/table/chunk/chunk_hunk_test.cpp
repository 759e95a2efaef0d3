// Long values in hunk blobs.

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "table/chunk/hunk.h"
#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"

namespace moraine::table {
namespace {

class ChunkHunkTest : public testing::TestWithParam<OptimizeFor> {
 protected:
  static std::shared_ptr<TableSchema> schema() {
    auto schema = std::make_shared<TableSchema>(plain_schema());
    schema->columns[2].max_inline_hunk_size = 100;
    return schema;
  }
  static std::vector<OwnedRow> long_rows(std::size_t count) {
    std::vector<OwnedRow> rows = plain_rows(count);
    for (std::size_t i = 0; i < count; i += 2) {
      rows[i].builder.values[1].value = Value(rows[i].keep(text_of(i)));
    }
    return rows;
  }
  static std::string text_of(std::size_t row) {
    return std::string(500 + row, static_cast<char>('a' + row % 26));
  }
  std::string resolve(const Value& value) {
    const HunkRef ref = decode_hunk(as_bytes(value.text()).data());
    const Slice bytes = chunks_.blobs.blobs.at(ref.blob).sub(ref.offset, ref.size);
    EXPECT_EQ(crc32c(bytes), ref.checksum);
    return std::string(bytes.text());
  }
  void check(const ChunkReader& reader, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      RowBuilder out;
      std::vector<std::pair<std::uint32_t, Slice>> pins;
      const std::string key =
          encode_key(std::vector<Value>{Value(static_cast<std::int64_t>(2 * i))});
      ASSERT_TRUE(*find_row(reader, key, {}, out, pins));
      ASSERT_EQ(out.values.size(), 2u);
      ASSERT_EQ(out.values[1].hunk, i % 2 == 0);
      if (i % 2 == 0) ASSERT_EQ(resolve(out.values[1].value), text_of(i));
    }
  }
  ChunkWriteOptions options() const {
    ChunkWriteOptions options;
    options.format = GetParam();
    return options;
  }

  TestChunks chunks_;
};

TEST_P(ChunkHunkTest, LongValuesAreReferencesToTheirBlobs) {
  const ChunkRecord record = chunks_.write(schema(), options(), long_rows(50));
  ASSERT_EQ(record.hunks.size(), 1u);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 50; i += 2) bytes += text_of(i).size();
  EXPECT_EQ(record.hunks[0].bytes, bytes);
  EXPECT_EQ(record.statistics.hunk_bytes, bytes);
  const auto reader = chunks_.open(record, schema());
  ASSERT_TRUE(reader);
  check(**reader, 50);
}

TEST_P(ChunkHunkTest, ReferencesAreCarriedOverToTheNextChunk) {
  const ChunkRecord first = chunks_.write(schema(), options(), long_rows(50));
  const auto reader = chunks_.open(first, schema());
  ASSERT_TRUE(reader);
  ChunkWriter writer(schema(), options());
  const auto cursor = (*reader)->scan({}, {.all_versions = true}, true);
  for (;;) {
    const auto step = cursor->next();
    if (step == RowCursor::Step::kEnd) break;
    if (step == RowCursor::Step::kNeedsData) {
      ASSERT_TRUE(run_now(cursor->load()));
    } else {
      ASSERT_TRUE(writer.add(cursor->row()));
    }
  }
  // And one that is new.
  OwnedRow added = std::move(long_rows(51)[50]);
  ASSERT_TRUE(writer.add(added.row()));
  const ChunkRecord second = chunks_.finish(writer, GetParam());
  ASSERT_EQ(second.hunks.size(), 2u);
  EXPECT_EQ(second.hunks[0].bytes, text_of(50).size());
  EXPECT_EQ(second.hunks[1].blob, first.hunks[0].blob);
  EXPECT_EQ(second.hunks[1].bytes, first.hunks[0].bytes);
  const auto next = chunks_.open(second, schema());
  ASSERT_TRUE(next);
  check(**next, 51);
}

INSTANTIATE_TEST_SUITE_P(Formats, ChunkHunkTest,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& test) {
                           return test.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
