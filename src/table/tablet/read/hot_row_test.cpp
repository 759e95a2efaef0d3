// Rows that were written many times: the cost of a read does not grow with their versions.

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class HotRow : public testing::TestWithParam<OptimizeFor> {
 protected:
  HotRow() {
    table_.settings.mount.enable_compaction_and_partitioning = false;
    table_.settings.chunks.format = GetParam();
    table_.boot();
  }
  void add_deltas(int count) {
    for (int i = 0; i < count; ++i) table_.put({{"k", 1}, {"n", 1}}, true, true);
  }
  std::uint64_t block_bytes() {
    const auto& chunks = table_.tablet->read_statistics().chunks;
    return chunks.get(ChunkReadCounters::kCacheBytes) + chunks.get(ChunkReadCounters::kDiskBytes);
  }
  static Task<void> flush(TableTablet& tablet) {
    const auto flushed = co_await tablet.flush();
    EXPECT_TRUE(flushed) << flushed.error().message();
  }
  static RowChange shared(RowChange change) {
    for (LockMode& mode : change.locks.modes) {
      if (mode == LockMode::kExclusive) mode = LockMode::kSharedWrite;
    }
    return change;
  }

  TestTable table_{23};
};

TEST_P(HotRow, InMemoryReturnsItsTotalAtAnyTimestamp) {
  add_deltas(3'000);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=3000");
  const Timestamp middle = table_.put({{"k", 1}, {"n", 1}}, true, true);
  add_deltas(100);
  EXPECT_EQ(table_.get({{"k", 1}}, middle), "k=1 n=3001");
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=3101");
  EXPECT_EQ(table_.all(), std::vector<std::string>{"k=1 n=3101"});
  table_.put({{"k", 1}, {"n", 5}});
  add_deltas(100);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=105");
  table_.erase({{"k", 1}});
  add_deltas(100);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=100");
  table_.restart();
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=100");
  EXPECT_EQ(table_.all(), std::vector<std::string>{"k=1 n=100"});
}

TEST_P(HotRow, InAChunkIsWalkedThroughOnce) {
  add_deltas(1'000);
  const Timestamp middle = table_.put({{"k", 1}, {"n", 1}}, true, true);
  add_deltas(1'000);
  table_.put({{"k", 2}, {"v", "x"}});
  table_.flush();
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=2001");
  const std::uint64_t before = block_bytes();
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=2001");
  EXPECT_EQ(block_bytes(), before) << "its block is not read again";
  EXPECT_EQ(table_.get({{"k", 1}}, middle), "k=1 n=1001");
  EXPECT_EQ(table_.get({{"k", 2}}), "k=2 v=x");
  add_deltas(10);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=2011") << "together with what is in memory";
  table_.put({{"k", 1}, {"v", "y"}}, true);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=y n=2011");
  table_.erase({{"k", 1}});
  EXPECT_EQ(table_.get({{"k", 1}}), "-");
}

// A transaction that was prepared before others began may get a timestamp between theirs, and its
// version is in an older store.
TEST_P(HotRow, WhatIsCommittedBetweenFoldedDeltasCounts) {
  TabletWrite late = table_.transaction({shared(table_.rows.put({{"k", 1}, {"n", 1'000}}))});
  ASSERT_TRUE(table_.world.run(table_.tablet->prepare(late, TabletId{5})));
  TaskScope scope;
  scope.spawn(flush(*table_.tablet));
  table_.world.run_for(1ms);
  const auto add_shared = [&] {
    const auto written = table_.write({shared(table_.rows.put({{"k", 1}, {"n", 1}}, true, true))});
    ASSERT_TRUE(written) << written.error().message();
  };
  for (int i = 0; i < 50; ++i) add_shared();
  const Timestamp between = table_.timestamps.draw();
  for (int i = 0; i < 50; ++i) add_shared();
  ASSERT_TRUE(table_.world.run(table_.tablet->commit_prepared(late.transaction, between)));
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=1050");
  EXPECT_EQ(table_.all(), std::vector<std::string>{"k=1 n=1050"});
  while (scope.live() > 0) table_.world.run_for(1ms);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 n=1050") << "one of them in a chunk";
  EXPECT_EQ(table_.all(), std::vector<std::string>{"k=1 n=1050"});
}

INSTANTIATE_TEST_SUITE_P(Formats, HotRow,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan));

}  // namespace
}  // namespace moraine::table
