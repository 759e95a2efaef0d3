#include "table/chunk/key_list.h"

#include <gtest/gtest.h>

#include "table/chunk/chunk_meta.h"
#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"

namespace moraine::table {
namespace {

std::string key(std::int64_t number) {
  const Value columns[] = {Value(number)};
  return encode_key(columns);
}

KeyList list_of(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  KeyList keys;
  for (std::int64_t number = first; number < last; number += step) keys.add(as_bytes(key(number)));
  return keys;
}

TEST(KeyList, FindsWhereAKeyBelongs) {
  const KeyList keys = list_of(10, 30, 2);
  ASSERT_EQ(keys.size(), 10u);
  EXPECT_EQ(as_text(keys.at(3)), key(16));
  EXPECT_EQ(keys.lower_bound(as_bytes(key(1))), 0u);
  EXPECT_EQ(keys.lower_bound(as_bytes(key(16))), 3u);
  EXPECT_EQ(keys.upper_bound(as_bytes(key(16))), 4u);
  EXPECT_EQ(keys.lower_bound(as_bytes(key(17))), 4u);
  EXPECT_EQ(keys.lower_bound(as_bytes(key(99))), 10u);
  EXPECT_EQ(KeyList().lower_bound(as_bytes(key(1))), 0u);
}

TEST(KeyList, ListsThatDifferInAKeyOrASeedHaveOtherHashes) {
  const KeyList keys = list_of(0, 100);
  const KeyList others = list_of(1, 101);
  EXPECT_EQ(keys.hash(1, 100, 7), others.hash(0, 99, 7));
  EXPECT_NE(keys.hash(0, 100, 7), others.hash(0, 100, 7));
  EXPECT_NE(keys.hash(0, 100, 7), keys.hash(0, 100, 8));
  EXPECT_NE(keys.hash(0, 99, 7), keys.hash(0, 100, 7));
}

class UnitsWithin : public testing::TestWithParam<OptimizeFor> {
 protected:
  UnitsWithin() : schema_(std::make_shared<TableSchema>()) {
    schema_->columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                        {.name = "v", .type = ColumnType::kString}};
  }
  // Rows of even keys, in several units.
  std::shared_ptr<ChunkReader> chunk() {
    std::vector<OwnedRow> rows(kRows);
    for (std::int64_t i = 0; i < kRows; ++i) {
      OwnedRow& row = rows[static_cast<std::size_t>(i)];
      row.key = key(2 * i);
      row.builder.write_timestamps = {Timestamp{5}};
      row.builder.values = {{Value(row.keep(std::string(50, 'x'))), 5, 1, false, false}};
    }
    const auto record =
        chunks_.write(schema_, {.format = GetParam(), .block_bytes = 1'000, .key_seed = 77}, rows);
    auto opened = chunks_.open(record, schema_);
    EXPECT_TRUE(opened);
    return *opened;
  }
  static std::size_t count(const SkippedUnits& units) {
    return static_cast<std::size_t>(std::ranges::count(units, true));
  }
  static std::int64_t rows_read(RowCursor& cursor) {
    std::int64_t rows = 0;
    for (;;) {
      const RowCursor::Step step = cursor.next();
      if (step == RowCursor::Step::kEnd) return rows;
      if (step == RowCursor::Step::kRow) ++rows;
      if (step == RowCursor::Step::kNeedsData) EXPECT_TRUE(run_now(cursor.load()));
    }
  }

  static constexpr std::int64_t kRows = 10'000;
  std::shared_ptr<TableSchema> schema_;
  TestChunks chunks_;
};

TEST_P(UnitsWithin, AListOfAllKeysHasEveryUnit) {
  const auto reader = chunk();
  const SkippedUnits within = reader->units_within(list_of(0, 2 * kRows, 2));
  EXPECT_GT(within.size(), 2u);
  EXPECT_EQ(count(within), within.size());
  EXPECT_EQ(count(reader->units_within(list_of(-100, 0))), 0u);
}

TEST_P(UnitsWithin, AUnitThatLacksOneKeyIsNotFound) {
  const auto reader = chunk();
  KeyList keys;
  for (std::int64_t i = 0; i < kRows; ++i) {
    if (i != kRows / 2) keys.add(as_bytes(key(2 * i)));
  }
  const SkippedUnits within = reader->units_within(keys);
  EXPECT_EQ(count(within), within.size() - 1);
}

TEST_P(UnitsWithin, AnEqualNumberOfOtherKeysIsNotEnough) {
  const auto reader = chunk();
  EXPECT_EQ(count(reader->units_within(list_of(1, 2 * kRows, 2))), 0u);
  KeyList keys;
  for (std::int64_t i = 0; i < kRows; ++i) keys.add(as_bytes(key(2 * i + (i == 5'000 ? 1 : 0))));
  const SkippedUnits within = reader->units_within(keys);
  EXPECT_EQ(count(within), within.size() - 1);
}

TEST_P(UnitsWithin, AScanWithoutThemReadsTheOthersAlone) {
  const auto reader = chunk();
  const SkippedUnits within = reader->units_within(list_of(0, kRows, 2));
  const std::size_t out = count(within);
  ASSERT_GT(out, 0u);
  ASSERT_LT(out, within.size());
  ReadSpec everything;
  everything.all_versions = true;
  const auto all = reader->scan({}, everything, false);
  EXPECT_EQ(rows_read(*all), kRows);
  const auto others = reader->scan({}, everything, false, within);
  const std::int64_t left = rows_read(*others);
  EXPECT_GE(left, kRows / 2);
  EXPECT_LT(left, kRows);
  const std::size_t reads = chunks_.blobs.reads;
  const auto none = reader->scan({}, everything, false, SkippedUnits(within.size(), true));
  EXPECT_EQ(rows_read(*none), 0);
  EXPECT_EQ(chunks_.blobs.reads, reads);
}

TEST_P(UnitsWithin, OfAChunkOfVersion1NoneIsFoundAndAllAreRead) {
  const auto reader = chunk();
  auto meta = decode_meta(chunks_.blobs.blobs.at(reader->record().meta));
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->key_hashes.size(), meta->units());
  meta->key_hashes.clear();
  for (std::size_t i = 0; i < meta->index.size(); ++i) {
    meta->separators.emplace_back(as_text(meta->index.at(i)));
  }
  ChunkRecord record = reader->record();
  record.meta = chunks_.blobs.add(encode_meta(*meta));
  const auto old = chunks_.open(record, schema_);
  ASSERT_TRUE(old) << old.error().message();
  EXPECT_EQ(count((*old)->units_within(list_of(0, 2 * kRows, 2))), 0u);
  ReadSpec everything;
  everything.all_versions = true;
  EXPECT_EQ(rows_read(*(*old)->scan({}, everything, false)), kRows);
}

INSTANTIATE_TEST_SUITE_P(Formats, UnitsWithin,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& info) {
                           return info.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
