// Lists of chunks that are too long for one record of the log.

#include <gtest/gtest.h>

#include "table/tablet/state/test_state.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr TabletId kChild{92};

TableSchema text_key_schema() {
  TableSchema schema;
  schema.columns = {key_column("k", ColumnType::kString), value_column("v")};
  return schema;
}

MountConfig unmerged() {
  MountConfig mount;
  mount.enable_compaction_and_partitioning = false;
  return mount;
}

// A stopped tablet whose chunks another one takes over.
class Parent {
 public:
  Parent(std::size_t chunks, std::size_t key_bytes) : table(21, text_key_schema(), unmerged()) {
    table.boot();
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::string key = fmt::format("{:03}", i) + std::string(key_bytes, 'x');
      table.put({{"k", std::string_view(key)}, {"v", "a"}});
      table.flush();
    }
    EXPECT_TRUE(table.world.run(table.tablet->freeze()));
    records = table.tablet->chunk_records();
    table.stop();
  }
  void take_over(TestTable& child) const {
    child.options.adopts = true;
    child.options.adopted = records;
    child.options.others = {TestTable::info()};
    auto booted = child.try_boot(TabletInfo::simple(kChild, kTestGroup, 3));
    ASSERT_TRUE(booted) << booted.error().message();
    child.tablet = std::move(*booted);
  }

  TestTable table;
  std::vector<ChunkRecord> records;
};

TEST(Adoption, OfMoreChunksThanOneLogEntryHoldsIsOneChange) {
  Parent parent(10, 200'000);
  // Six times each, 24 MiB of records.
  const std::vector<ChunkRecord> once = parent.records;
  for (int i = 0; i < 5; ++i) {
    parent.records.insert(parent.records.end(), once.begin(), once.end());
  }
  parent.take_over(parent.table);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  EXPECT_EQ(parent.table.all().size(), 10u);
  EXPECT_EQ(parent.table.tablet->statistics().chunks, 60u);
  parent.table.stop();
  // Another start finds them in its own state.
  parent.table.options.adopted.clear();
  auto again = parent.table.try_boot(TabletInfo::simple(kChild, kTestGroup, 3));
  ASSERT_TRUE(again) << again.error().message();
  parent.table.tablet = std::move(*again);
  EXPECT_EQ(parent.table.all().size(), 10u);
}

TEST(Adoption, IsWholeWhereverItIsInterrupted) {
  Parent parent(4, 10);
  SimDiskStore& disks = parent.table.storage.node().disks();
  std::vector<DiskImage> images;
  disks.on_io([&](const IoEvent& event) {
    const CrashPolicy policy = event.number % 2 == 0 ? CrashPolicy::kKeep : CrashPolicy::kRandom;
    images.push_back(disks.crash_image("device", policy, event.number));
  });
  parent.take_over(parent.table);
  disks.on_io({});
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  ASSERT_GE(images.size(), 4u);
  for (std::size_t i = 0; i < images.size(); ++i) {
    TestTable child(22, text_key_schema(), unmerged());
    child.timestamps.raise_to(parent.table.timestamps.draw());
    child.install(std::move(images[i]));
    child.stop();
    parent.take_over(child);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << i;
    EXPECT_EQ(child.all().size(), 4u) << i;
    EXPECT_EQ(child.tablet->statistics().chunks, 4u) << i;
  }
}

class StagedChunks : public testing::Test {
 protected:
  static MountConfig small_partitions() {
    MountConfig mount;
    mount.min_data_ttl = 0ms;
    mount.max_data_ttl = 0ms;
    mount.min_partition_data_size = 4u << 10;
    mount.desired_partition_data_size = 16u << 10;
    mount.max_partition_data_size = 32u << 10;
    mount.compaction_data_size_base = 4u << 10;
    return mount;
  }
  void open(std::uint64_t seed) {
    table_ = std::make_unique<TestTable>(seed, test_schema(), small_partitions());
    table_->settings.limits.logged_chunk_bytes_max = 500;  // One or two chunks.
    table_->boot();
  }
  void put_many(int count, std::uint64_t seed) {
    SeededRandom random(seed);
    std::vector<RowChange> changes;
    for (int key = 0; key < count; ++key) {
      std::string text;
      while (text.size() < 100) text += static_cast<char>('!' + random.next() % 90);
      changes.push_back(table_->rows.put({{"k", key}, {"v", std::string_view(text)}}));
    }
    ASSERT_TRUE(table_->write(std::move(changes)));
  }
  std::unique_ptr<TestTable> table_;
};

TEST_F(StagedChunks, AreThereAfterRestartsAndPowerCuts) {
  open(31);
  put_many(2'000, 1);
  table_->flush();
  table_->world.run_for(1min);
  const std::uint64_t chunks = table_->tablet->statistics().chunks;
  EXPECT_GE(chunks, 5u);
  table_->crash();
  EXPECT_EQ(table_->tablet->statistics().chunks, chunks);
  EXPECT_EQ(table_->all().size(), 2'000u);
  table_->restart();
  EXPECT_EQ(table_->all().size(), 2'000u);
}

TEST_F(StagedChunks, LoseNothingAtRandomMoments) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    open(40 + seed);
    SeededRandom random(seed);
    for (int round = 0; round < 8; ++round) {
      put_many(1'000, random.next());
      MountConfig mount = small_partitions();
      mount.max_dynamic_store_row_count = 500;
      mount.forced_compaction_revision = static_cast<std::uint64_t>(round) + 1;
      ASSERT_TRUE(table_->tablet->remount(mount));
      table_->world.run_for(std::chrono::microseconds(random.next() % 40'000));
      if (random.one_in(2)) table_->crash();
      ASSERT_EQ(table_->all().size(), 1'000u) << seed << ' ' << round;
    }
  }
}

class StagedState : public testing::Test {
 protected:
  static ChunkRecord chunk(std::uint64_t id) {
    ChunkRecord record;
    record.id = id;
    record.meta =
        BlobId(TabletId{91}, 2, 3, kFirstDataChannel, 100, static_cast<std::uint32_t>(id));
    return record;
  }
  Result<void> replay(const LogRecord& record) { return state_.replay(encode(record)); }

  const std::shared_ptr<const TableSchema> schema_ =
      std::make_shared<const TableSchema>(test_schema());
  TableState state_{TabletId{91}, schema_};
};

TEST_F(StagedState, ASnapshotHasWhatIsStaged) {
  ASSERT_TRUE(replay(StageRecord{5, true, {chunk(1), chunk(2)}}));
  TableState copy(TabletId{91}, schema_);
  ASSERT_TRUE(copy.restore(state_.snapshot()));
  EXPECT_TRUE(copy.chunks().empty());
  ReplaceRecord replace;
  replace.build = 5;
  replace.staged = 2;
  replace.added = {chunk(3)};
  ASSERT_TRUE(copy.replay(encode(replace)));
  EXPECT_EQ(copy.chunks().size(), 3u);
}

TEST_F(StagedState, WhatAnEarlierIncarnationHasStagedIsNotAdded) {
  ASSERT_TRUE(replay(StageRecord{5, true, {chunk(1), chunk(2)}}));
  ReplaceRecord replace;
  replace.build = 5;
  replace.added = {chunk(3)};
  ASSERT_TRUE(replay(replace));
  EXPECT_EQ(state_.chunks().size(), 1u);
  ASSERT_TRUE(replay(StageRecord{6, true, {chunk(4)}}));
  ASSERT_TRUE(replay(StageRecord{6, true, {chunk(5)}}));
  replace.build = 6;
  replace.staged = 1;
  replace.added = {};
  ASSERT_TRUE(replay(replace));
  EXPECT_FALSE(state_.chunks().contains(4));
  EXPECT_TRUE(state_.chunks().contains(5));
  EXPECT_FALSE(replay(replace)) << "nothing is staged";
}

}  // namespace
}  // namespace moraine::table
