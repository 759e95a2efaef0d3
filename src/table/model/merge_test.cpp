#include "table/model/merge.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::table {
namespace {

TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                    {.name = "a", .type = ColumnType::kInt64},
                    {.name = "s", .type = ColumnType::kInt64, .aggregate = Aggregate::kSum},
                    {.name = "t", .type = ColumnType::kString}};
  return schema;
}

class VisibleRow : public testing::Test {
 protected:
  void write(Timestamp timestamp, ColumnIndex column, const Value& value, bool delta = false) {
    row_.values.push_back({value, timestamp, column, delta, false});
    row_.write_timestamps.push_back(timestamp);
    order_row(row_);
  }
  void erase(Timestamp timestamp) {
    row_.delete_timestamps.push_back(timestamp);
    order_row(row_);
  }
  // "absent", or the values of columns 1 and 2.
  std::string at(Timestamp timestamp, Timestamp retention = kMinTimestamp) {
    const ColumnIndex wanted[] = {1, 2};
    VisibleCell out[2];
    if (!read_visible(row_.row(), timestamp, retention, schema_, wanted, out, memory_)) {
      return "absent";
    }
    std::string text;
    for (const VisibleCell& cell : out) {
      text += cell.value.is_null() ? "#" : std::to_string(cell.value.as_int64());
      text += '@' + std::to_string(cell.timestamp) + ' ';
    }
    return text;
  }

  const TableSchema schema_ = test_schema();
  RowBuilder row_;
  TextMemory memory_;
};

TEST_F(VisibleRow, TheNewestVersionAtOrBelowTheTimestampIsSeen) {
  write(10, 1, 1);
  write(20, 1, 2);
  EXPECT_EQ(at(9), "absent");
  EXPECT_EQ(at(10), "1@10 #@0 ");
  EXPECT_EQ(at(19), "1@10 #@0 ");
  EXPECT_EQ(at(kAsyncLastCommitted), "2@20 #@0 ");
}

TEST_F(VisibleRow, ADeleteHidesWhatIsOlder) {
  write(10, 1, 1);
  erase(20);
  write(30, 2, 5);
  EXPECT_EQ(at(19), "1@10 #@0 ");
  EXPECT_EQ(at(20), "absent");
  EXPECT_EQ(at(30), "#@0 5@30 ");
}

TEST_F(VisibleRow, DeltasAreFoldedDownToAFullValueOrADelete) {
  write(10, 2, 100);
  write(20, 2, 1, true);
  write(30, 2, 2, true);
  EXPECT_EQ(at(15), "#@0 100@10 ");
  EXPECT_EQ(at(25), "#@0 101@20 ");
  EXPECT_EQ(at(30), "#@0 103@30 ");
  erase(40);
  write(50, 2, 7, true);
  write(60, 2, 8, true);
  EXPECT_EQ(at(70), "#@0 15@60 ");
}

TEST_F(VisibleRow, ARetentionTimestampHidesOlderVersionsOfEachColumn) {
  write(10, 1, 1);
  write(20, 2, 5, true);
  write(30, 2, 6, true);
  EXPECT_EQ(at(40, 10), "1@10 11@30 ");
  EXPECT_EQ(at(40, 11), "#@0 11@30 ");
  EXPECT_EQ(at(40, 30), "#@0 6@30 ");
  EXPECT_EQ(at(40, 31), "absent");
}

TEST_F(VisibleRow, ExplicitNullHidesAnOlderValueAndTheRowStays) {
  write(10, 1, 1);
  write(20, 1, Value());
  EXPECT_EQ(at(20), "#@20 #@0 ");
}

TEST_F(VisibleRow, WantedColumnsMayComeInAnyOrder) {
  write(10, 1, 1);
  write(10, 2, 2);
  write(10, 3, "text");
  const ColumnIndex wanted[] = {3, 1, 2, 2};
  Value out[4];
  ASSERT_TRUE(read_visible(row_.row(), 10, 0, schema_, wanted, out, memory_));
  EXPECT_EQ(out[0], Value("text"));
  EXPECT_EQ(out[1], Value(1));
  EXPECT_EQ(out[2], Value(2));
  EXPECT_EQ(out[3], Value(2));
}

TEST_F(VisibleRow, AVersionedReadReturnsAllThatIsNotNewer) {
  write(10, 1, 1);
  write(20, 2, 2, true);
  erase(30);
  RowBuilder out;
  ColumnSet columns = ColumnSet::none(4);
  columns.add(2);
  ASSERT_TRUE(read_versions(row_.row(), 25, &columns, out));
  EXPECT_EQ(out.values.size(), 1U);
  EXPECT_EQ(out.write_timestamps, (std::vector<Timestamp>{20, 10}));
  EXPECT_TRUE(out.delete_timestamps.empty());
  ASSERT_TRUE(read_versions(row_.row(), 30, nullptr, out));
  EXPECT_EQ(out.values.size(), 2U);
  EXPECT_EQ(out.delete_timestamps, (std::vector<Timestamp>{30}));
  EXPECT_FALSE(read_versions(row_.row(), 9, nullptr, out));
}

TEST(MergeRows, VersionsOfAllStoresComeInOrderAndOnce) {
  SeededRandom random(3);
  for (int round = 0; round < 500; ++round) {
    RowBuilder whole;
    std::vector<RowBuilder> parts(1 + random.below(5));
    for (std::uint64_t i = random.below(60); i > 0; --i) {
      const Timestamp timestamp = 1 + random.below(20);
      const VersionedValue value{static_cast<std::int64_t>(timestamp), timestamp,
                                 static_cast<ColumnIndex>(1 + random.below(3)), false, false};
      for (std::uint64_t copies = 1 + random.below(2); copies > 0; --copies) {
        RowBuilder& part = parts[random.below(parts.size())];
        for (RowBuilder* row : {&part, &whole}) {
          row->values.push_back(value);
          row->write_timestamps.push_back(timestamp);
          if (timestamp % 5 == 0) row->delete_timestamps.push_back(timestamp + 100);
        }
      }
    }
    order_row(whole);
    std::vector<VersionedRow> rows;
    for (RowBuilder& part : parts) {
      order_row(part);
      rows.push_back(part.row());
    }
    RowBuilder merged;
    merge_rows(rows, merged);
    EXPECT_EQ(merged.write_timestamps, whole.write_timestamps);
    EXPECT_EQ(merged.delete_timestamps, whole.delete_timestamps);
    ASSERT_EQ(merged.values.size(), whole.values.size());
    for (std::size_t i = 0; i < merged.values.size(); ++i) {
      EXPECT_EQ(merged.values[i].timestamp, whole.values[i].timestamp);
      EXPECT_EQ(merged.values[i].column, whole.values[i].column);
      if (i == 0) continue;
      const VersionedValue& last = merged.values[i - 1];
      EXPECT_TRUE(last.column < merged.values[i].column ||
                  last.timestamp > merged.values[i].timestamp);
    }
  }
}

}  // namespace
}  // namespace moraine::table
