// in_memory_mode: reads of chunks need no device.

#include <gtest/gtest.h>

#include <set>

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
  std::uint64_t disk_bytes() {
    return table_.tablet->read_statistics().chunks.get(ChunkReadCounters::kDiskBytes);
  }
  // Bytes read from the device when reading all rows one by one.
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

// There is no cache of compressed blocks here.
TEST_P(InMemory, WhatIsPinnedIsCompressedOrNotAsTheModeSays) {
  put(0, 200);
  const TabletStatistics statistics = table_.tablet->statistics();
  const std::size_t pinned = table_.blocks.statistics().pinned_bytes;
  switch (GetParam()) {
    case InMemoryMode::kNone: EXPECT_EQ(pinned, 0u); break;
    case InMemoryMode::kCompressed: EXPECT_EQ(pinned, statistics.compressed_bytes); break;
    case InMemoryMode::kUncompressed: EXPECT_GE(pinned, statistics.uncompressed_bytes); break;
  }
  const std::uint64_t in_memory = GetParam() == InMemoryMode::kNone ? 0 : 1;
  EXPECT_EQ(statistics.preload_completed_chunks, in_memory);
  EXPECT_EQ(statistics.preload_pending_chunks + statistics.preload_failed_chunks, 0u);
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

// Chunks that do not fit are read from the disk, the state reports it, and they are loaded into
// memory once there is enough.
TEST(InMemoryQuota, AFullQuotaFailsPreloadsOnlyAndIsTriedAgain) {
  TestTable table(17);
  table.pinned.set_bytes_max(4'000);
  table.settings.in_memory_mode = InMemoryMode::kUncompressed;
  table.settings.mount.enable_compaction_and_partitioning = false;
  table.boot();
  const std::string text(100, 'x');
  std::vector<RowChange> changes;
  for (std::int64_t key = 0; key < 100; ++key) {
    changes.push_back(table.rows.put({{"k", key}, {"v", text}}));
  }
  ASSERT_TRUE(table.write(std::move(changes)));
  table.flush();
  TabletStatistics statistics = table.tablet->statistics();
  EXPECT_EQ(statistics.preload_failed_chunks, 1u);
  EXPECT_EQ(statistics.preload_completed_chunks, 0u);
  EXPECT_NE(statistics.preload_error.find("in_memory_bytes"), std::string::npos)
      << statistics.preload_error;
  EXPECT_EQ(table.pinned.bytes(), 0u) << "nothing of a chunk that does not fit is kept";
  EXPECT_EQ(table.all().size(), 100u);

  const std::uint64_t failures = statistics.preload_failures;
  table.world.run_for(60s);
  statistics = table.tablet->statistics();
  EXPECT_GT(statistics.preload_failures, failures);
  EXPECT_LT(statistics.preload_failures, failures + 30) << "pauses between attempts grow";

  // A chunk that fits is loaded, whatever happens to the other one.
  table.put({{"k", 1'000}, {"v", "small"}});
  table.flush();
  statistics = table.tablet->statistics();
  EXPECT_EQ(statistics.preload_completed_chunks, 1u);
  EXPECT_EQ(statistics.preload_failed_chunks, 1u);
  EXPECT_LE(table.pinned.bytes(), 4'000u);

  table.pinned.set_bytes_max(1u << 20);
  table.world.run_for(60s);
  statistics = table.tablet->statistics();
  EXPECT_EQ(statistics.preload_completed_chunks, 2u);
  EXPECT_EQ(statistics.preload_failed_chunks, 0u);
  EXPECT_EQ(statistics.preload_error, "");
}

Task<void> flush_of(TableTablet& tablet, bool& done) {
  done = (co_await tablet.flush()).has_value();
}

// The simulator ends a run in which some loop never sleeps.
TEST(InMemoryQuota, AChunkThatFailedBeforeItIsInstalledIsTriedAgainAtIntervals) {
  TestTable table(19);
  table.pinned.set_bytes_max(0);
  table.settings.in_memory_mode = InMemoryMode::kUncompressed;
  table.boot();
  table.put({{"k", 1}, {"v", "text"}});
  TaskScope flushes;
  bool done = false;
  flushes.spawn(flush_of(*table.tablet, done));
  for (int i = 0; i < 100'000 && table.tablet->statistics().preload_failures == 0; ++i) {
    table.world.run_for(1us);
  }
  EXPECT_EQ(table.tablet->statistics().preload_failures, 1u);
  // The chunk is built; its record in the log is not durable.
  SimDrive& drive = table.storage.node().disks().drive("device");
  drive.set_stuck(true);
  table.world.run_for(5s);
  EXPECT_FALSE(done);
  drive.set_stuck(false);
  table.world.run_for(5s);
  EXPECT_TRUE(done);
  EXPECT_EQ(table.tablet->statistics().preload_failed_chunks, 1u);
  table.pinned.set_bytes_max(1u << 20);
  table.world.run_for(60s);
  EXPECT_EQ(table.tablet->statistics().preload_completed_chunks, 1u);
}

// forced_compaction_revision: chunks older than the time it was set are rewritten.
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

TEST_F(ForcedCompaction, TheSameRevisionOrderedAgainTakesWhatWasWrittenSince) {
  MountConfig mount = table_.settings.mount;
  mount.forced_compaction_revision = 1;
  for (int round = 0; round < 3; ++round) {
    table_.put({{"k", round}, {"v", "x"}});
    table_.flush();
    settle();
    std::set<std::uint64_t> before;
    for (const ChunkRecord& chunk : table_.tablet->chunk_records()) before.insert(chunk.id);
    mount.forced_compaction_ms = std::max(now_ms(), mount.forced_compaction_ms + 1);
    ASSERT_TRUE(table_.tablet->remount(mount));
    settle();
    for (const ChunkRecord& chunk : table_.tablet->chunk_records()) {
      EXPECT_FALSE(before.contains(chunk.id)) << "round " << round;
    }
  }
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
