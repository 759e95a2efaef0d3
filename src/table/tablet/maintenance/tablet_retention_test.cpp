// The rules of "removing old data": what compaction drops, and when.
#include <gtest/gtest.h>

#include "io/sim/switched_on.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class TabletRetention : public testing::Test {
 protected:
  void open(RetentionConfig retention = {}) {
    MountConfig mount;
    mount.retention() = retention;
    mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
    table = std::make_unique<TestTable>(3, test_schema(), mount);
    table->boot();
  }
  void flush_and_compact() {
    table->flush();
    table->compact();
  }
  std::string get(Timestamp timestamp = kSyncLastCommitted) {
    return table->get({{"k", 1}}, timestamp);
  }
  Timestamp put(std::string_view text) { return table->put({{"k", 1}, {"v", text}}); }

  std::unique_ptr<TestTable> table;
};

RetentionConfig versions(std::uint32_t least, std::uint32_t most) {
  RetentionConfig retention;
  retention.min_data_versions = least;
  retention.max_data_versions = most;
  retention.min_data_ttl = 0ms;
  retention.max_data_ttl = 0ms;
  return retention;
}

TEST_F(TabletRetention, ByDefaultAllVersionsOfTheLast30MinutesStay) {
  open();
  const Timestamp first = put("one");
  const Timestamp second = put("two");
  put("three");
  table->world.run_for(29min);
  flush_and_compact();
  EXPECT_EQ(get(first), "k=1 v=one");
  EXPECT_EQ(get(second), "k=1 v=two");
  EXPECT_EQ(table->tablet->statistics().retained, kMinTimestamp);
}

TEST_F(TabletRetention, ByDefaultOnlyTheNewestVersionStaysAfter30Minutes) {
  open();
  const Timestamp first = put("one");
  put("two");
  table->world.run_for(31min);
  flush_and_compact();
  EXPECT_EQ(get(), "k=1 v=two");
  EXPECT_TRUE(get(first).starts_with("error: ")) << get(first);
  EXPECT_GT(table->tablet->statistics().retained, first);
}

TEST_F(TabletRetention, ByDefaultTheNewestVersionStaysForEver) {
  open();
  put("one");
  table->world.run_for(50h);
  flush_and_compact();
  EXPECT_EQ(get(), "k=1 v=one");
}

TEST_F(TabletRetention, TheFirstMinDataVersionsStay) {
  open(versions(2, 2));
  put("one");
  const Timestamp second = put("two");
  put("three");
  table->world.run_for(5s);
  table->flush();
  const std::size_t rows = table->tablet->statistics().unmerged_rows;
  EXPECT_EQ(rows, 1u);
  table->compact();
  const auto row = table->world.run(table->tablet->reader().lookup_versions(
      table->rows.key({{"k", 1}}), kAsyncLastCommitted, std::nullopt));
  ASSERT_TRUE(row) << row.error().message();
  EXPECT_EQ(row->row.write_timestamps.size(), 2u);
  EXPECT_EQ(row->row.write_timestamps.back(), second);
}

TEST_F(TabletRetention, VersionsPastMaxDataVersionsGo) {
  open(versions(0, 1));
  put("one");
  put("two");
  table->world.run_for(5s);
  flush_and_compact();
  const auto row = table->world.run(table->tablet->reader().lookup_versions(
      table->rows.key({{"k", 1}}), kAsyncLastCommitted, std::nullopt));
  ASSERT_TRUE(row) << row.error().message();
  EXPECT_LE(row->row.write_timestamps.size(), 1u);
}

TEST_F(TabletRetention, ValuesOlderThanMaxDataTtlGoWhenNoVersionNeedStay) {
  RetentionConfig retention = versions(0, 1);
  retention.max_data_ttl = 24h;
  open(retention);
  put("one");
  table->world.run_for(23h);
  flush_and_compact();
  EXPECT_EQ(get(), "k=1 v=one");
  table->world.run_for(2h);
  table->compact();
  EXPECT_EQ(get(), "-");
}

TEST_F(TabletRetention, AChunkInWhichEverythingIsExpiredIsDroppedUnread) {
  RetentionConfig retention = versions(0, 1);
  retention.max_data_ttl = 1h;
  open(retention);
  for (std::int64_t key = 0; key < 100; ++key) table->put({{"k", key}, {"v", "a"}});
  table->flush();
  const std::uint64_t read =
      table->tablet->read_statistics().chunks.get(ChunkReadCounters::kDiskBytes);
  table->world.run_for(2h);
  const TabletStatistics figures = table->tablet->statistics();
  EXPECT_EQ(figures.chunks, 0u);
  EXPECT_EQ(figures.chunks_dropped_unread, 1u);
  EXPECT_EQ(table->tablet->read_statistics().chunks.get(ChunkReadCounters::kDiskBytes), read);
  EXPECT_TRUE(table->all().empty());
  table->restart();
  EXPECT_TRUE(table->all().empty());
}

TEST_F(TabletRetention, ADeleteWritesAMarkerAndFreesNothingByItself) {
  open();
  const Timestamp written = put("one");
  table->flush();
  table->erase({{"k", 1}});
  flush_and_compact();
  EXPECT_EQ(get(), "-");
  EXPECT_EQ(get(written), "k=1 v=one");
  EXPECT_GT(table->tablet->statistics().unmerged_rows, 0u);
}

TEST_F(TabletRetention, ADeletedRowGoesWithItsMarkerWhenNothingOlderIsLeft) {
  open();
  put("one");
  table->flush();
  table->erase({{"k", 1}});
  table->world.run_for(31min);
  flush_and_compact();
  EXPECT_EQ(get(), "-");
  EXPECT_EQ(table->tablet->statistics().unmerged_rows, 0u);
  EXPECT_EQ(table->tablet->statistics().chunks, 0u);
}

TEST_F(TabletRetention, DeletedRowsGoByThemselvesWhenTheirTimeHasCome) {
  open();
  for (std::int64_t key = 0; key < 100; ++key) table->put({{"k", key}, {"v", "a"}});
  table->flush();
  for (std::int64_t key = 0; key < 100; ++key) table->erase({{"k", key}});
  table->flush();
  table->world.run_for(10min);
  EXPECT_GT(table->tablet->statistics().chunks, 0u);
  table->world.run_for(30min);
  EXPECT_EQ(table->tablet->statistics().chunks, 0u);
}

TEST_F(TabletRetention, AggregatesAreFoldedIntoOneValue) {
  open();
  for (int i = 1; i <= 4; ++i) {
    table->put({{"k", 1}, {"n", i}}, true, true);
    table->flush();
  }
  table->world.run_for(31min);
  table->compact();
  EXPECT_EQ(get(), "k=1 n=10");
  const auto row = table->world.run(table->tablet->reader().lookup_versions(
      table->rows.key({{"k", 1}}), kAsyncLastCommitted, std::nullopt));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->row.values.size(), 1u);
  table->put({{"k", 1}, {"n", 5}}, true, true);
  EXPECT_EQ(get(), "k=1 n=15");
}

TEST_F(TabletRetention, TheSeededBugOfTombstonesIsSeen) {
  MountConfig mount;
  mount.retention() = versions(1, 1);
  mount.enable_compaction_and_partitioning = false;
  mount.merge_rows_on_flush = true;
  table = std::make_unique<TestTable>(3, test_schema(), mount);
  const SwitchedOn bug(SeededBug::kTombstoneDroppedEarly);
  table->boot();
  put("one");
  table->flush();
  table->erase({{"k", 1}});
  table->world.run_for(2s);
  table->flush();
  EXPECT_EQ(get(), "k=1 v=one");
}

}  // namespace
}  // namespace moraine::table
