#include "table/model/fold_row.h"

#include <gtest/gtest.h>

#include "table/model/merge.h"

namespace moraine::table {
namespace {

class FoldRow : public testing::Test {
 protected:
  FoldRow() {
    schema_.columns.resize(4);
    const char* const names[] = {"k", "sum", "first", "text"};
    for (std::size_t i = 0; i < 4; ++i) schema_.columns[i].name = names[i];
    schema_.columns[0].key = true;
    schema_.columns[1].aggregate = Aggregate::kSum;
    schema_.columns[2].aggregate = Aggregate::kFirst;
  }
  void add(ColumnIndex column, Timestamp timestamp, Value value, bool delta) {
    VersionedValue made;
    made.value = value;
    made.timestamp = timestamp;
    made.column = column;
    made.aggregate = delta;
    row_.values.push_back(made);
    row_.write_timestamps.push_back(timestamp);
    order_row(row_);
  }
  std::vector<Value> read(const RowBuilder& row) {
    std::vector<Value> out(3);
    const ColumnIndex wanted[] = {1, 2, 3};
    EXPECT_TRUE(read_visible(row.row(), kMaxTimestamp, kNullTimestamp, schema_, wanted, out.data(),
                             memory_));
    return out;
  }
  // The same before and after.
  void fold() {
    const std::vector<Value> before = read(row_);
    fold_deltas(schema_, 1'000, memory_, row_);
    EXPECT_EQ(read(row_), before);
    EXPECT_FALSE(folds_overlap(row_.row()));
  }

  TableSchema schema_;
  RowBuilder row_;
  TextMemory memory_;
};

TEST_F(FoldRow, PartsOfAColumnBecomeOneValue) {
  for (Timestamp at = 10; at < 20; ++at) add(1, at, Value(std::int64_t{5}), true);
  for (Timestamp at = 10; at < 20; ++at) add(2, at, Value(static_cast<std::int64_t>(at)), true);
  add(3, 15, Value("x"), false);
  fold();
  ASSERT_EQ(row_.values.size(), 3u);
  EXPECT_EQ(row_.values[0].value, Value(std::int64_t{50}));
  EXPECT_EQ(row_.values[0].timestamp, 19u);
  EXPECT_TRUE(row_.values[0].aggregate) << "older stores may have more";
  EXPECT_EQ(row_.values[1].value, Value(std::int64_t{10}));
  ASSERT_EQ(row_.folded.size(), 2u);
  EXPECT_EQ(row_.folded[0].oldest, 10u);
}

TEST_F(FoldRow, AFullValueBelowDeltasMakesAFullValue) {
  add(1, 10, Value(std::int64_t{100}), false);
  add(1, 11, Value(std::int64_t{1}), true);
  add(1, 12, Value(std::int64_t{1}), true);
  fold();
  ASSERT_EQ(row_.values.size(), 1u);
  EXPECT_EQ(row_.values[0].value, Value(std::int64_t{102}));
  EXPECT_FALSE(row_.values[0].aggregate);
}

TEST_F(FoldRow, WhatWasDeletedIsLeftOut) {
  add(1, 10, Value(std::int64_t{100}), true);
  add(1, 20, Value(std::int64_t{1}), true);
  add(1, 21, Value(std::int64_t{1}), true);
  row_.delete_timestamps = {15};
  fold();
  EXPECT_EQ(read(row_)[0], Value(std::int64_t{2}));
}

TEST_F(FoldRow, FoldingAgainKeepsTheOldestPart) {
  add(1, 10, Value(std::int64_t{1}), true);
  add(1, 11, Value(std::int64_t{1}), true);
  fold();
  add(1, 12, Value(std::int64_t{1}), true);
  fold();
  ASSERT_EQ(row_.folded.size(), 1u);
  EXPECT_EQ(row_.folded[0].oldest, 10u);
  EXPECT_EQ(row_.folded[0].newest, 12u);
}

TEST_F(FoldRow, WhatLiesBetweenPartsIsFound) {
  add(1, 10, Value(std::int64_t{1}), true);
  add(1, 20, Value(std::int64_t{1}), true);
  fold();
  RowBuilder other = row_;
  add(1, 9, Value(std::int64_t{1}), false);
  add(2, 15, Value(std::int64_t{1}), false);
  EXPECT_FALSE(folds_overlap(row_.row())) << "older, or of another column";
  add(1, 15, Value(std::int64_t{1}), false);
  EXPECT_TRUE(folds_overlap(row_.row()));
  other.delete_timestamps = {15};
  EXPECT_TRUE(folds_overlap(other.row()));
}

}  // namespace
}  // namespace moraine::table
