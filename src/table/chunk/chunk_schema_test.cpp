// Chunks of a table whose schema was changed later.

#include <gtest/gtest.h>

#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"

namespace moraine::table {
namespace {

class ChunkSchemaTest : public testing::TestWithParam<OptimizeFor> {
 protected:
  ChunkSchemaTest() {
    ChunkWriteOptions options;
    options.format = GetParam();
    record_ = chunks_.write(std::make_shared<TableSchema>(plain_schema()), options, rows_);
  }
  std::shared_ptr<ChunkReader> open(TableSchema schema) {
    auto reader = chunks_.open(record_, std::make_shared<TableSchema>(std::move(schema)));
    INVARIANT(reader, "{}", reader.error().message());
    return *reader;
  }
  std::vector<std::string> scan(const ChunkReader& reader, const KeyBounds& bounds) {
    std::vector<std::string> rows;
    const auto cursor = reader.scan(bounds, {}, true);
    for (;;) {
      const auto step = cursor->next();
      if (step == RowCursor::Step::kEnd) return rows;
      if (step == RowCursor::Step::kRow) {
        rows.push_back(describe(cursor->row()));
      } else {
        EXPECT_TRUE(run_now(cursor->load()));
      }
    }
  }

  TestChunks chunks_;
  const std::vector<OwnedRow> rows_ = plain_rows(500);
  ChunkRecord record_;
};

TEST_P(ChunkSchemaTest, ColumnsAreFoundByNameAndKeepTheirOrder) {
  TableSchema schema = plain_schema();
  // text, an added column, number.
  std::swap(schema.columns[1], schema.columns[2]);
  ColumnSchema added;
  added.name = "added";
  schema.columns.insert(schema.columns.begin() + 2, added);
  const auto reader = open(schema);
  RowBuilder out;
  std::vector<std::pair<std::uint32_t, Slice>> pins;
  ASSERT_TRUE(*find_row(*reader, rows_[3].key, {}, out, pins));
  ASSERT_EQ(out.values.size(), 2u);
  EXPECT_EQ(out.values[0].column, 1);
  EXPECT_EQ(out.values[0].value.text(), "text 93");
  EXPECT_EQ(out.values[1].column, 3);
  EXPECT_EQ(out.values[1].value.as_int64(), 21);
}

TEST_P(ChunkSchemaTest, ColumnsThatTheTableLostAreSkipped) {
  TableSchema schema = plain_schema();
  schema.columns.pop_back();
  const auto reader = open(schema);
  RowBuilder out;
  std::vector<std::pair<std::uint32_t, Slice>> pins;
  ASSERT_TRUE(*find_row(*reader, rows_[3].key, {}, out, pins));
  ASSERT_EQ(out.values.size(), 1u);
  EXPECT_EQ(out.values[0].value.as_int64(), 21);
}

TEST_P(ChunkSchemaTest, AddedKeyColumnsAreNull) {
  TableSchema schema = plain_schema();
  ColumnSchema added;
  added.name = "second";
  added.type = ColumnType::kString;
  added.key = true;
  schema.columns.insert(schema.columns.begin() + 1, added);
  added.name = "third";
  schema.columns.insert(schema.columns.begin() + 2, added);
  const auto reader = open(schema);
  const auto key_of = [](std::int64_t first, Value second, Value third) {
    return encode_key(std::vector<Value>{Value(first), second, third});
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto first = static_cast<std::int64_t>(2 * i);
    RowBuilder out;
    std::vector<std::pair<std::uint32_t, Slice>> pins;
    ASSERT_TRUE(*find_row(*reader, key_of(first, {}, {}), {}, out, pins)) << i;
    EXPECT_EQ(out.values[0].column, 3);
    EXPECT_FALSE(*find_row(*reader, key_of(first, "", {}), {}, out, pins));
    EXPECT_FALSE(*find_row(*reader, key_of(first, {}, "x"), {}, out, pins));
    EXPECT_FALSE(*find_row(*reader, key_of(first + 1, {}, {}), {}, out, pins));
  }
  // From just above row 10 through row 20.
  const auto found = scan(*reader, {key_of(20, {}, "a"), key_of(40, {}, "")});
  ASSERT_EQ(found.size(), 10u);
  EXPECT_TRUE(found[0].starts_with(fmt::format("'{}'", key_of(22, {}, {}))));
  EXPECT_EQ(scan(*reader, {key_of(20, {}, {}), key_of(40, {}, {})}).size(), 10u);
  EXPECT_EQ(scan(*reader, {}).size(), rows_.size());
}

TEST_P(ChunkSchemaTest, FewerKeyColumnsThanTheChunkHasAreRefused) {
  TableSchema schema = plain_schema();
  schema.columns[0].key = false;
  EXPECT_FALSE(chunks_.open(record_, std::make_shared<TableSchema>(schema)));
}

INSTANTIATE_TEST_SUITE_P(Formats, ChunkSchemaTest,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& test) {
                           return test.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
