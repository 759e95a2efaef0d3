// Tablets that share the memory of a node.

#include "table/tablet/tablet_memory.h"

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class SharedMemory : public testing::Test {
 protected:
  using TabletPtr = std::unique_ptr<TableTablet>;

  SharedMemory() {
    table_.resources->store_budget = &stores_;
    table_.resources->history_budget = &history_;
  }
  ~SharedMemory() override {
    for (const TabletPtr& tablet : tablets_) table_.world.run(tablet->stop());
  }

  TableTablet& boot(std::uint64_t id) {
    auto booted = table_.try_boot(TabletInfo::simple(TabletId{id}, kTestGroup, 3));
    INVARIANT(booted, "{}", booted.error().message());
    return *tablets_.emplace_back(std::move(*booted));
  }
  Result<Timestamp> put(TableTablet& tablet, std::int64_t key, const std::string& value = "v",
                        Timestamp start = 0) {
    std::vector<RowChange> changes{table_.rows.put({{"k", key}, {"v", std::string_view(value)}})};
    return table_.world.run(tablet.commit(table_.transaction(std::move(changes), start)));
  }
  // Writes rows of about so many bytes; how many were accepted.
  std::uint64_t fill(TableTablet& tablet, std::uint64_t bytes) {
    constexpr std::uint64_t kRowBytes = 16'384;
    std::uint64_t written = 0;
    for (; written < bytes; written += kRowBytes) {
      if (!put(tablet, ++key_, std::string(kRowBytes, 'x'))) break;
    }
    return written;
  }
  // Rows without values, of about 300 bytes of history each.
  void change_rows(TableTablet& tablet, std::int64_t from, std::int64_t to) {
    std::vector<RowChange> changes;
    for (std::int64_t key = from; key < to; ++key) changes.push_back(table_.rows.put({{"k", key}}));
    const auto written = table_.world.run(tablet.commit(table_.transaction(std::move(changes))));
    ASSERT_TRUE(written) << written.error().message();
  }
  static std::uint64_t bytes(TableTablet& tablet) { return tablet.statistics().memory_bytes; }

  MemoryBudget stores_{4 * kMiB, 8 * kMiB};
  MemoryBudget history_{4 * kMiB, 4 * kMiB};
  TestTable table_{3};
  std::vector<TabletPtr> tablets_;
  std::int64_t key_ = 0;
};

TEST_F(SharedMemory, TheLargestTabletIsFlushedWhenTheNodeHasManyRows) {
  TableTablet& small = boot(1);
  TableTablet& large = boot(2);
  fill(small, kMiB);
  fill(large, 2 * kMiB);
  table_.world.run_for(1s);
  EXPECT_EQ(small.statistics().flushes + large.statistics().flushes, 0u) << "below the mark";
  fill(large, 2 * kMiB);
  table_.world.run_for(1s);
  EXPECT_EQ(large.statistics().flushes, 1u);
  EXPECT_EQ(small.statistics().flushes, 0u);
  EXPECT_LT(bytes(large), 2 * kMiB);
}

TEST_F(SharedMemory, WritesGoOnWhileTheNodeFlushes) {
  TableTablet& one = boot(1);
  TableTablet& two = boot(2);
  for (int round = 0; round < 10; ++round) {
    EXPECT_GE(fill(one, 2 * kMiB), 2 * kMiB);
    EXPECT_GE(fill(two, kMiB), kMiB);
    table_.world.run_for(1s);
  }
  EXPECT_GT(one.statistics().flushes, 0u);
  EXPECT_GT(two.statistics().flushes, 0u);
  EXPECT_LE(stores_.bytes(), stores_.bytes_max());
}

TEST_F(SharedMemory, WritesOfAllTabletsFailWhileTheNodeIsFull) {
  table_.settings.mount.enable_store_flush = false;
  TableTablet& holder = boot(1);
  TableTablet& other = boot(2);
  EXPECT_GE(fill(holder, 7 * kMiB), 7 * kMiB);
  ASSERT_TRUE(put(other, 1)) << "below the limit";
  EXPECT_LT(fill(holder, 4 * kMiB), 4 * kMiB);
  const auto refused = put(other, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOverloaded);
  EXPECT_NE(refused.error().message().find("the node's memory for unflushed rows is full"),
            std::string::npos)
      << refused.error().message();
  MountConfig mount = table_.settings.mount;
  mount.enable_store_flush = true;
  ASSERT_TRUE(holder.remount(mount));
  table_.world.run_for(5s);
  EXPECT_LT(bytes(holder), kMiB);
  EXPECT_TRUE(put(other, 1));
}

TEST_F(SharedMemory, AStoppedTabletReleasesItsMemory) {
  boot(1);
  fill(*tablets_.front(), kMiB);
  EXPECT_GT(stores_.bytes(), kMiB);
  EXPECT_GT(history_.bytes(), 0u);
  table_.world.run(tablets_.front()->stop());
  tablets_.clear();
  EXPECT_EQ(stores_.bytes(), 0u);
  EXPECT_EQ(history_.bytes(), 0u);
}

TEST_F(SharedMemory, RowsOfARestartAreCounted) {
  boot(1);
  fill(*tablets_.front(), 2 * kMiB);
  table_.world.run(tablets_.front()->stop());
  tablets_.clear();
  boot(1);
  EXPECT_GT(stores_.bytes(), 2 * kMiB);
}

TEST_F(SharedMemory, AnIdleTabletReleasesItsLockHistory) {
  TableTablet& tablet = boot(1);
  const Timestamp before = table_.timestamps.draw();
  change_rows(tablet, 0, 1'000);
  const Timestamp after = table_.timestamps.draw();
  EXPECT_GT(history_.bytes(), 0u);
  table_.world.run_for(kTransactionAgeMax - 10s);
  EXPECT_GT(history_.bytes(), 0u);
  table_.world.run_for(20s);
  EXPECT_EQ(history_.bytes(), 0u);
  const auto early = put(tablet, 5'000, "v", before);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Errc::kAborted) << "what it may conflict with was dropped";
  EXPECT_TRUE(put(tablet, 5'001, "v", after)) << "nothing was committed after it began";
}

TEST_F(SharedMemory, TheOldestLockHistoryOfTheNodeIsDroppedFirst) {
  TableTablet& older = boot(1);
  TableTablet& newer = boot(2);
  const Timestamp before = table_.timestamps.draw();
  change_rows(older, 0, 5'000);
  EXPECT_TRUE(put(older, 100'000, "v", before)) << "its history is known";
  change_rows(newer, 0, 5'000);
  EXPECT_TRUE(put(older, 100'001, "v", before));
  const Timestamp between = table_.timestamps.draw();
  EXPECT_TRUE(put(newer, 100'000, "v", between));
  EXPECT_LE(history_.bytes(), history_.bytes_max());
  change_rows(newer, 10'000, 16'000);
  table_.world.run_for(1s);
  EXPECT_LE(history_.bytes(), history_.bytes_max());
  const auto aborted = put(older, 100'002, "v", before);
  ASSERT_FALSE(aborted);
  EXPECT_EQ(aborted.error().code, Errc::kAborted);
  EXPECT_TRUE(put(newer, 100'003, "v", between)) << "its history is known";
  EXPECT_FALSE(put(newer, 10'001, "v", between)) << "and is used";
}

}  // namespace
}  // namespace moraine::table
