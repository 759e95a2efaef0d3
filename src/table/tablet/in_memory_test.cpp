// in_memory_mode: reads of chunks need no device.

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class InMemory : public testing::TestWithParam<InMemoryMode> {
 protected:
  InMemory() : table_(11) {
    table_.settings.in_memory_mode = GetParam();
    table_.settings.mount.enable_compaction_and_partitioning = false;
    table_.boot();
  }
  void put(std::int64_t first, std::int64_t last) {
    std::vector<RowChange> changes;
    for (std::int64_t key = first; key < last; ++key) {
      changes.push_back(table_.rows.put({{"k", key}, {"v", "text"}}));
    }
    ASSERT_TRUE(table_.write(std::move(changes)));
    table_.flush();
  }
  std::uint64_t disk_bytes() { return table_.tablet->read_statistics().chunks.disk_bytes.load(); }
  // How much reading all rows, one by one, takes from the device.
  std::uint64_t read_all() {
    const std::uint64_t before = disk_bytes();
    for (std::int64_t key = 0; key < 200; ++key) {
      EXPECT_NE(table_.get({{"k", key}}), "-") << key;
    }
    EXPECT_EQ(table_.all().size(), 200u);
    return disk_bytes() - before;
  }

  TestTable table_;
};

TEST_P(InMemory, ChunksOfFlushesAndCompactionsAreInMemoryAtOnce) {
  put(0, 100);
  put(100, 200);
  EXPECT_EQ(read_all() == 0, GetParam() != InMemoryMode::kNone);
  table_.compact();
  EXPECT_EQ(read_all() == 0, GetParam() != InMemoryMode::kNone);
}

TEST_P(InMemory, AMountBringsAllChunksIntoMemory) {
  put(0, 200);
  table_.restart();
  table_.world.run_for(5s);
  EXPECT_EQ(read_all() == 0, GetParam() != InMemoryMode::kNone);
}

INSTANTIATE_TEST_SUITE_P(Modes, InMemory,
                         testing::Values(InMemoryMode::kNone, InMemoryMode::kCompressed,
                                         InMemoryMode::kUncompressed),
                         [](const auto& test) {
                           switch (test.param) {
                             case InMemoryMode::kNone: return "None";
                             case InMemoryMode::kCompressed: return "Compressed";
                             default: return "Uncompressed";
                           }
                         });

// forced_compaction_revision: chunks that are older than the moment it was raised are made anew.
class ForcedCompaction : public testing::Test {
 protected:
  ForcedCompaction() : table_(13) { table_.boot(); }
  std::uint64_t now_ms() {
    return static_cast<std::uint64_t>(table_.storage.world().clock.since_epoch().count());
  }
  void settle() { table_.world.run(table_.tablet->settle()); }
  std::uint64_t chunk_id() {
    const auto records = table_.tablet->chunk_records();
    EXPECT_EQ(records.size(), 1u);
    return records.empty() ? 0 : records.front().id;
  }

  TestTable table_;
};

TEST_F(ForcedCompaction, RaisedWhileUnmountedTakesOlderChunksOnce) {
  table_.put({{"k", 1}, {"v", "x"}});
  table_.flush();
  settle();
  const std::uint64_t before = chunk_id();
  table_.stop();
  table_.world.run_for(1s);
  table_.settings.mount.forced_compaction_revision = 5;
  table_.settings.mount.forced_compaction_ms = now_ms();
  table_.world.run_for(1s);
  table_.boot();
  settle();
  const std::uint64_t after = chunk_id();
  EXPECT_NE(after, before);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=x");
  table_.restart();
  settle();
  EXPECT_EQ(chunk_id(), after) << "it is younger than the revision";
}

TEST_F(ForcedCompaction, RaisedByARemountTakesAllChunksAlsoAfterACrash) {
  table_.put({{"k", 1}, {"v", "x"}});
  table_.flush();
  settle();
  const std::uint64_t before = chunk_id();
  table_.world.run_for(1s);
  MountConfig mount = table_.settings.mount;
  mount.forced_compaction_revision = 1;
  mount.forced_compaction_ms = now_ms();
  table_.settings.mount = mount;
  ASSERT_TRUE(table_.tablet->remount(mount));
  table_.crash();
  table_.world.run_for(1s);
  settle();
  EXPECT_NE(chunk_id(), before);
}

}  // namespace
}  // namespace moraine::table
