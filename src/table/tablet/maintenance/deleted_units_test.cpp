#include "table/tablet/maintenance/deleted_units.h"

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

MountConfig forced_only(std::chrono::milliseconds ttl) {
  MountConfig mount;
  mount.min_data_ttl = ttl;
  mount.max_data_ttl = ttl;
  mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
  mount.enable_compaction_and_partitioning = false;
  return mount;
}

class DeletedUnits : public testing::TestWithParam<OptimizeFor> {
 protected:
  void open(MountConfig mount) {
    table = std::make_unique<TestTable>(3, test_schema(), mount);
    table->settings.chunks.format = GetParam();
    table->settings.chunks.block_bytes = 512;
    table->boot();
  }
  void put_many(std::int64_t first, std::int64_t last) {
    std::vector<RowChange> changes;
    for (std::int64_t key = first; key < last; ++key) {
      changes.push_back(table->rows.put({{"k", key}, {"v", std::string_view("text")}}));
    }
    ASSERT_TRUE(table->write(std::move(changes)));
    table->flush();
  }
  void erase_many(std::int64_t first, std::int64_t last) {
    std::vector<RowChange> changes;
    for (std::int64_t key = first; key < last; ++key) {
      changes.push_back(table->rows.erase({{"k", key}}));
    }
    ASSERT_TRUE(table->write(std::move(changes)));
    table->flush();
  }
  TabletStatistics figures() const { return table->tablet->statistics(); }

  std::unique_ptr<TestTable> table;
};

TEST_P(DeletedUnits, AChunkOfWhichEveryRowIsDeletedIsDroppedUnread) {
  open(forced_only(0ms));
  put_many(0, 1'000);
  put_many(1'000, 1'500);
  erase_many(0, 1'000);
  table->world.run_for(2s);
  table->compact();
  EXPECT_EQ(figures().chunks_dropped_unread, 1u);
  EXPECT_EQ(figures().chunks, 1u);
  EXPECT_EQ(figures().unmerged_rows, 500u);
  EXPECT_EQ(table->all().size(), 500u);
  EXPECT_EQ(table->get({{"k", 999}}), "-");
  table->crash();
  EXPECT_EQ(table->all().size(), 500u);
}

TEST_P(DeletedUnits, OneRowThatLivesKeepsItsChunkRead) {
  open(forced_only(0ms));
  put_many(0, 1'000);
  erase_many(0, 500);
  erase_many(501, 1'000);
  table->world.run_for(2s);
  table->compact();
  EXPECT_EQ(figures().chunks_dropped_unread, 0u);
  EXPECT_EQ(table->all().size(), 1u);
  EXPECT_EQ(table->get({{"k", 500}}), "k=500 v=text");
}

TEST_P(DeletedUnits, RowsWrittenAgainAfterTheirDeletionStay) {
  open(forced_only(0ms));
  put_many(0, 1'000);
  erase_many(0, 1'000);
  put_many(200, 300);
  table->world.run_for(2s);
  table->compact();
  EXPECT_EQ(figures().chunks_dropped_unread, 1u);
  EXPECT_EQ(table->all().size(), 100u);
}

TEST_P(DeletedUnits, TombstonesOlderThanARowDoNotDeleteIt) {
  open(forced_only(0ms));
  erase_many(0, 1'000);
  put_many(0, 1'000);
  table->world.run_for(2s);
  table->compact();
  EXPECT_EQ(figures().chunks_dropped_unread, 0u);
  EXPECT_EQ(table->all().size(), 1'000u);
}

TEST_P(DeletedUnits, WhatIsYoungerThanMinDataTtlStaysReadableInThePast) {
  open(forced_only(1h));
  put_many(0, 1'000);
  table->world.run_for(2s);
  const Timestamp before = table->timestamps.draw();
  table->world.run_for(2s);
  erase_many(0, 1'000);
  table->world.run_for(2s);
  table->compact();
  EXPECT_EQ(figures().chunks_dropped_unread, 0u);
  EXPECT_EQ(table->all().size(), 0u);
  EXPECT_EQ(table->get({{"k", 7}}, before), "k=7 v=text");
}

// As many tombstones as rows, and one row was written without a value instead.
TEST_P(DeletedUnits, ARowThatWasWrittenWithoutAValueIsNotDeleted) {
  open(forced_only(0ms));
  ASSERT_TRUE(table->write(
      {table->rows.put({{"k", 1}, {"v", "one"}}), table->rows.put({{"k", 2}, {"v", "two"}})}));
  table->flush();
  ASSERT_TRUE(table->write({table->rows.erase({{"k", 2}})}));
  ASSERT_TRUE(table->write({table->rows.erase({{"k", 2}})}));
  ASSERT_TRUE(table->write({table->rows.put({{"k", 1}}, true)}));
  table->flush();
  table->world.run_for(2s);
  table->compact();
  EXPECT_EQ(figures().chunks_dropped_unread, 0u);
  EXPECT_EQ(table->all(), std::vector<std::string>{"k=1 v=one"});
}

class DeletedUnitsOfLookup : public DeletedUnits {};

// An older chunk that is not merged has the rows too.
TEST_P(DeletedUnitsOfLookup, TombstonesOfRowsElsewhereStay) {
  MountConfig mount = forced_only(0ms);
  mount.enable_compaction_and_partitioning = true;
  open(mount);
  put_many(0, 10'000);
  put_many(0, 1'000);
  erase_many(0, 1'000);
  table->world.run_for(2s);
  EXPECT_EQ(figures().chunks_dropped_unread, 1u);
  EXPECT_GE(figures().chunks, 2u);
  EXPECT_EQ(table->all().size(), 9'000u);
  table->crash();
  EXPECT_EQ(table->all().size(), 9'000u);
}

INSTANTIATE_TEST_SUITE_P(Format, DeletedUnitsOfLookup, testing::Values(OptimizeFor::kLookup));
INSTANTIATE_TEST_SUITE_P(Formats, DeletedUnits,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& info) {
                           return info.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
