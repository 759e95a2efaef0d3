#include "table/chunk/hot_rows.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

TableSchema schema() {
  TableSchema made;
  made.columns.resize(3);
  made.columns[0].name = "k";
  made.columns[0].key = true;
  made.columns[1].name = "sum";
  made.columns[1].aggregate = Aggregate::kSum;
  made.columns[2].name = "text";
  return made;
}

RowBuilder row_of(int deltas, std::string_view text) {
  RowBuilder row;
  for (int i = deltas; i > 0; --i) {
    VersionedValue value;
    value.value = Value(std::int64_t{1});
    value.column = 1;
    value.timestamp = static_cast<Timestamp>(100 + i);
    value.aggregate = true;
    row.values.push_back(value);
  }
  VersionedValue last;
  last.value = Value(text);
  last.column = 2;
  last.timestamp = 100;
  row.values.push_back(last);
  row.write_timestamps.push_back(static_cast<Timestamp>(100 + deltas));
  return row;
}

TEST(HotRows, ReturnTheTotalAndOwnTheirTexts) {
  HotRows rows;
  EXPECT_FALSE(rows.any());
  {
    const std::string text(1'000, 'x');
    rows.add(as_bytes("key"), 7, schema(), row_of(1'000, text));
  }
  EXPECT_TRUE(rows.any());
  RowBuilder found;
  ASSERT_TRUE(rows.find(as_bytes("key"), 7, nullptr, found));
  ASSERT_EQ(found.values.size(), 2u);
  EXPECT_EQ(found.values[0].value, Value(std::int64_t{1'000}));
  EXPECT_EQ(found.values[1].value.text(), std::string(1'000, 'x'));
  EXPECT_EQ(found.folded.size(), 1u);
  EXPECT_FALSE(rows.find(as_bytes("other"), 7, nullptr, found));
  EXPECT_FALSE(rows.find(as_bytes("key"), 8, nullptr, found));
}

TEST(HotRows, ReturnTheRequestedColumns) {
  HotRows rows;
  rows.add(as_bytes("key"), 7, schema(), row_of(10, "x"));
  ColumnSet wanted = ColumnSet::none(3);
  wanted.add(2);
  RowBuilder found;
  ASSERT_TRUE(rows.find(as_bytes("key"), 7, &wanted, found));
  ASSERT_EQ(found.values.size(), 1u);
  EXPECT_TRUE(found.folded.empty());
}

TEST(HotRows, AreFewAndShort) {
  HotRows rows;
  rows.add(as_bytes("long"), 1, schema(), row_of(10, std::string(kHotRowBytesMax + 1, 'x')));
  EXPECT_FALSE(rows.has(as_bytes("long"), 1));
  EXPECT_FALSE(rows.may_add(1)) << "it is not read for this again";
  EXPECT_TRUE(rows.may_add(5));
  for (std::uint64_t i = 0; i < kHotRowsMax + 10; ++i) {
    EXPECT_EQ(rows.may_add(5), i < kHotRowsMax);
    const std::string key = std::to_string(i);
    rows.add(as_bytes(key), 5, schema(), row_of(10, "x"));
    EXPECT_EQ(rows.has(as_bytes(key), 5), i < kHotRowsMax);
  }
}

TEST(HotRows, OfAllChunksTakeABoundedShareOfMemory) {
  const std::size_t before = HotRows::bytes_held();
  {
    std::vector<std::unique_ptr<HotRows>> chunks;
    std::size_t added = 0;
    for (std::size_t i = 0; i < 2 * kHotBytesMax / kHotRowBytesMax; ++i) {
      chunks.push_back(std::make_unique<HotRows>());
      chunks.back()->add(as_bytes("key"), 3, schema(),
                         row_of(10, std::string(kHotRowBytesMax, 'x')));
      added += chunks.back()->has(as_bytes("key"), 3) ? 1 : 0;
    }
    EXPECT_GT(added, kHotBytesMax / kHotRowBytesMax / 2);
    EXPECT_LT(added, chunks.size());
    EXPECT_LE(HotRows::bytes_held(), kHotBytesMax);
    EXPECT_FALSE(chunks.back()->may_add(4)) << "it is not read without need";
  }
  EXPECT_EQ(HotRows::bytes_held(), before);
}

TEST(HotRows, RefusedOnesAreRememberedWithinABound) {
  HotRows rows;
  TableSchema wide = schema();
  wide.columns.resize(kHotRowValues + 10);
  RowBuilder row;
  for (std::size_t column = 2; column < wide.columns.size(); ++column) {
    VersionedValue value;
    value.value = Value(std::int64_t{1});
    value.column = static_cast<ColumnIndex>(column);
    value.timestamp = 100;
    row.values.push_back(value);
  }
  for (std::uint64_t hash = 1; hash <= 2 * kRefusedRows; ++hash) {
    EXPECT_TRUE(rows.may_add(hash));
    rows.add(as_bytes("wide"), hash, wide, row);
    EXPECT_FALSE(rows.may_add(hash));
  }
  EXPECT_TRUE(rows.may_add(1)) << "newer ones take its place";
  EXPECT_TRUE(rows.may_add(0));
  EXPECT_FALSE(rows.any());
}

}  // namespace
}  // namespace moraine::table
