// The rule of retention, sentence by sentence. Times are in minutes; "now" is minute 10'000.
#include "table/model/retention.h"

#include <gtest/gtest.h>

#include "table/model/merge.h"

namespace moraine::table {
namespace {

constexpr std::uint64_t kNow = 10'000;
constexpr std::uint64_t kMinuteMs = 60'000;
using std::chrono::minutes;

Timestamp minute(std::uint64_t n) {
  return timestamp_of_seconds(n * 60);
}

TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                    {.name = "a", .type = ColumnType::kInt64},
                    {.name = "s", .type = ColumnType::kInt64, .aggregate = Aggregate::kSum},
                    {.name = "$ttl", .type = ColumnType::kUint64}};
  return schema;
}

class Retention : public testing::Test {
 protected:
  // Written `ago` minutes ago.
  void write(std::uint64_t ago, const Value& value, ColumnIndex column = 1, bool delta = false) {
    row_.values.push_back({value, minute(kNow - ago), column, delta, false});
    row_.write_timestamps.push_back(minute(kNow - ago));
    order_row(row_);
  }
  void erase(std::uint64_t ago) {
    row_.delete_timestamps.push_back(minute(kNow - ago));
    order_row(row_);
  }
  void config(std::uint32_t min_versions, std::uint32_t max_versions, std::uint64_t min_ttl_minutes,
              std::uint64_t max_ttl_minutes) {
    config_ = {.min_data_versions = min_versions,
               .max_data_versions = max_versions,
               .min_data_ttl = minutes(min_ttl_minutes),
               .max_data_ttl = minutes(max_ttl_minutes)};
  }
  // What is left: values of a column as "age:value" ("+" before a delta), newest first, then
  // deletes as "xage".
  std::string kept(ColumnIndex column = 1) {
    RowBuilder out;
    RowRetention(schema_, config_, scope_).apply(row_.row(), memory_, out);
    std::string text;
    for (const VersionedValue& value : out.values) {
      if (value.column != column) continue;
      if (value.aggregate) text += '+';
      text += ago(value.timestamp) + ':' + std::to_string(value.value.as_int64()) + ' ';
    }
    for (const Timestamp timestamp : out.delete_timestamps) text += 'x' + ago(timestamp) + ' ';
    if (!text.empty()) text.pop_back();
    return text;
  }
  static std::string ago(Timestamp timestamp) {
    return std::to_string(kNow - unix_seconds(timestamp) / 60);
  }

  const TableSchema schema_ = test_schema();
  RetentionConfig config_;
  RetentionScope scope_{.now = minute(kNow)};
  RowBuilder row_;
  TextMemory memory_;
};

TEST_F(Retention, DefaultsAreOneVersionAndThirtyMinutes) {
  EXPECT_EQ(config_.min_data_versions, 1U);
  EXPECT_EQ(config_.max_data_versions, 1U);
  EXPECT_EQ(config_.min_data_ttl, minutes(30));
  EXPECT_EQ(config_.max_data_ttl, minutes(30));
  for (const std::uint64_t age : {5, 29, 31, 100}) write(age, age);
  EXPECT_EQ(kept(), "5:5 29:29") << "the last thirty minutes, and the rest goes";
}

TEST_F(Retention, ByDefaultTheLastValueStaysForEver) {
  write(5'000, 1);
  write(4'000, 2);
  EXPECT_EQ(kept(), "4000:2");
}

TEST_F(Retention, TheFirstMinDataVersionsMayNotGo) {
  config(2, 2, 0, 0);
  for (const std::uint64_t age : {10, 20, 30}) write(age, age);
  EXPECT_EQ(kept(), "10:10 20:20");
}

TEST_F(Retention, ValuesYoungerThanMinDataTtlMayNotGo) {
  config(0, 0, 15, 0);
  for (const std::uint64_t age : {10, 14, 15, 20}) write(age, age);
  EXPECT_EQ(kept(), "10:10 14:14");
}

TEST_F(Retention, ValuesPastMaxDataVersionsMayGo) {
  config(0, 2, 0, 1'000'000);
  for (const std::uint64_t age : {10, 20, 30}) write(age, age);
  EXPECT_EQ(kept(), "10:10 20:20");
}

TEST_F(Retention, ValuesOlderThanMaxDataTtlMayGo) {
  config(0, 100, 0, 20);
  for (const std::uint64_t age : {10, 20, 21, 30}) write(age, age);
  EXPECT_EQ(kept(), "10:10 20:20");
}

TEST_F(Retention, WithoutAPermissionNothingGoes) {
  config(0, 100, 0, 1'000'000);
  for (const std::uint64_t age : {10, 20, 5'000}) write(age, age);
  EXPECT_EQ(kept(), "10:10 20:20 5000:5000");
}

TEST_F(Retention, OneVersionOfTheLastDayAndNothingOlder) {
  config(0, 1, 0, 1'440);
  for (const std::uint64_t age : {10, 20, 2'000}) write(age, age);
  EXPECT_EQ(kept(), "10:10");
  row_.clear();
  write(2'000, 1);
  EXPECT_EQ(kept(), "");
}

TEST_F(Retention, ADeleteIsAVersionOfEveryColumn) {
  config(2, 2, 0, 0);
  write(30, 3);
  write(20, 2);
  erase(10);
  EXPECT_EQ(kept(), "20:2 x10") << "the delete is the first of the two versions";
}

TEST_F(Retention, ATombstoneGoesWhenNothingOlderIsLeft) {
  write(50, 1);
  erase(40);
  EXPECT_EQ(kept(), "");
  write(10, 2);
  EXPECT_EQ(kept(), "10:2");
}

TEST_F(Retention, ATombstoneYoungerThanMinDataTtlStays) {
  write(50, 1);
  erase(20);
  EXPECT_EQ(kept(), "x20");
}

TEST_F(Retention, ATombstoneStaysWhileOlderVersionsMayBeElsewhere) {
  write(50, 1);
  erase(40);
  scope_.oldest_elsewhere = minute(kNow - 45);
  EXPECT_EQ(kept(), "x40");
  scope_.oldest_elsewhere = minute(kNow - 35);
  EXPECT_EQ(kept(), "");
  scope_.oldest_elsewhere = kMinTimestamp;
  scope_.ignore_major_timestamp = true;
  EXPECT_EQ(kept(), "");
}

TEST_F(Retention, AnExpiredValueStaysWhileItHidesAnOlderOneElsewhere) {
  config(0, 1, 0, 20);
  write(30, 1);
  scope_.oldest_elsewhere = minute(kNow - 40);
  EXPECT_EQ(kept(), "30:1");
  scope_.oldest_elsewhere = minute(kNow - 25);
  EXPECT_EQ(kept(), "");
}

TEST_F(Retention, AVersionThatAReaderAtTheHorizonSeesStays) {
  write(100, 1);
  write(50, 2);
  write(10, 3);
  scope_.horizon = minute(kNow - 60);
  EXPECT_EQ(kept(), "10:3 50:2 100:1");
  scope_.horizon = minute(kNow - 50);
  EXPECT_EQ(kept(), "10:3 50:2");
  scope_.horizon = retained_timestamp(config_, scope_.now);
  EXPECT_EQ(kept(), "10:3 50:2");
}

TEST_F(Retention, TtlOfARowVersionTakesThePlaceOfMaxDataTtl) {
  config(0, 1, 0, 1'000'000);
  write(30, 1);
  EXPECT_EQ(kept(), "30:1");
  write(30, std::uint64_t{20} * kMinuteMs, 3);
  EXPECT_EQ(kept(), "");
  config_.min_data_ttl = minutes(40);
  EXPECT_EQ(kept(), "30:1") << "not less than min_data_ttl";
}

TEST_F(Retention, DeltasThatMayGoAreFoldedIntoTheOldestThatStays) {
  write(100, 1'000, 2);
  write(60, 1, 2, true);
  write(50, 2, 2, true);
  write(10, 4, 2, true);
  EXPECT_EQ(kept(2), "10:1007");
  scope_.horizon = retained_timestamp(config_, scope_.now);
  EXPECT_EQ(kept(2), "+10:4 50:1003");
}

TEST_F(Retention, DeltasStayDeltasWhileOlderPartsMayBeElsewhere) {
  write(60, 1, 2, true);
  write(50, 2, 2, true);
  scope_.oldest_elsewhere = kMinTimestamp;
  EXPECT_EQ(kept(2), "+50:2 +60:1") << "a delete elsewhere may lie between them";
  scope_.alone_from = minute(kNow - 70);
  scope_.alone_to = kMaxTimestamp;
  EXPECT_EQ(kept(2), "+50:3");
  scope_.oldest_elsewhere = minute(kNow - 40);
  EXPECT_EQ(kept(2), "50:3");
}

TEST_F(Retention, DeltasAreNotFoldedPastADelete) {
  write(70, 100, 2, true);
  erase(60);
  write(50, 2, 2, true);
  EXPECT_EQ(kept(2), "50:2");
}

TEST_F(Retention, WritesWithoutColumnsMakeARowThatIsKeptAndThatExpires) {
  row_.write_timestamps.push_back(minute(kNow - 100));
  RowBuilder out;
  RowRetention(schema_, config_, scope_).apply(row_.row(), memory_, out);
  EXPECT_EQ(out.write_timestamps.size(), 1U);
  config(0, 1, 0, 50);
  RowRetention(schema_, config_, scope_).apply(row_.row(), memory_, out);
  EXPECT_TRUE(out.empty());
}

TEST_F(Retention, AVersionedReadShowsWhatCompactionWouldKeep) {
  for (const std::uint64_t age : {10, 50, 100}) write(age, age);
  RowBuilder out;
  ASSERT_TRUE(read_retained_versions(row_.row(), kMaxTimestamp, nullptr, schema_, config_,
                                     scope_.now, memory_, out));
  EXPECT_EQ(out.values.size(), 1U);
  ASSERT_TRUE(read_retained_versions(row_.row(), minute(kNow - 50), nullptr, schema_, config_,
                                     scope_.now, memory_, out));
  EXPECT_EQ(out.values.at(0).value, Value(std::uint64_t{50}));
}

}  // namespace
}  // namespace moraine::table
