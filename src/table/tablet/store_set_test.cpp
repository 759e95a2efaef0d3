#include "table/tablet/store_set.h"

#include <gtest/gtest.h>

#include "base/epoch.h"

namespace moraine::table {
namespace {

class StoreSetTest : public testing::Test {
 protected:
  StoreSetTest() : stores_(std::make_shared<const TableSchema>(), {}, 5, Instant{}) {}
  std::shared_ptr<const TabletView> view() { return stores_.views().hold(); }
  StoreSet stores_;
};

TEST_F(StoreSetTest, BeginsWithOneStoreAndOnePartition) {
  EXPECT_EQ(stores_.active().number, 5u);
  EXPECT_EQ(view()->memory.size(), 1u);
  ASSERT_EQ(view()->partitions.size(), 1u);
  EXPECT_EQ(&view()->partition_of(as_bytes("any")), &view()->partitions[0]);
}

TEST_F(StoreSetTest, ReadersMeetTheActiveStoreFirst) {
  const auto first = stores_.active().store;
  stores_.rotate(Instant{});
  EXPECT_EQ(stores_.active().number, 6u);
  ASSERT_EQ(view()->memory.size(), 2u);
  EXPECT_EQ(view()->memory[0], stores_.active().store);
  EXPECT_EQ(view()->memory[1], first);
}

TEST_F(StoreSetTest, AHeldViewStaysUsableAfterTheStoreWasFlushed) {
  const auto old = view();
  stores_.rotate(Instant{});
  StoreSet::Change change;
  change.flushed = {5};
  stores_.apply(std::move(change));
  EXPECT_EQ(stores_.memory(5), nullptr);
  EXPECT_EQ(view()->memory.size(), 1u);
  EXPECT_EQ(old->memory.size(), 1u);
  EXPECT_EQ(view()->flush_revision, 1u);
  EXPECT_EQ(old->flush_revision, 0u);
}

TEST_F(StoreSetTest, FlushedStoresWithoutReadersAreForgottenByLaterFlushes) {
  const auto held = stores_.active().store;
  for (StoreNumber number = 5; number < 105; ++number) {
    stores_.rotate(Instant{});
    StoreSet::Change change;
    change.flushed = {number};
    stores_.apply(std::move(change));
    while (!run_retired()) {
    }
  }
  EXPECT_LE(stores_.replaced_stores(), 3u);
  EXPECT_GE(stores_.replaced_stores(), 1u) << "the first is still read";
}

TEST_F(StoreSetTest, KeysFindTheirPartitions) {
  StoreSet::Change change;
  change.pivots = std::vector<std::string>{"", "d", "m"};
  stores_.apply(std::move(change));
  const auto now = view();
  EXPECT_EQ(now->partition_of(as_bytes("a")).from, "");
  EXPECT_EQ(now->partition_of(as_bytes("d")).from, "d");
  EXPECT_EQ(now->partition_of(as_bytes("lzz")).from, "d");
  EXPECT_EQ(now->partition_of(as_bytes("m")).from, "m");
  EXPECT_EQ(now->partition_of(as_bytes("zz")).from, "m");
}

TEST_F(StoreSetTest, TheRetainedTimestampDoesNotGoBack) {
  StoreSet::Change change;
  change.retained_timestamp = 100;
  stores_.apply(change);
  change.retained_timestamp = 50;
  stores_.apply(change);
  EXPECT_EQ(view()->retained_timestamp, 100u);
}

TEST_F(StoreSetTest, RestoredStoresContinueAndTheNewestIsActive) {
  std::map<StoreNumber, std::shared_ptr<MemoryStore>> restored;
  restored[7] = std::make_shared<MemoryStore>();
  restored[9] = std::make_shared<MemoryStore>();
  stores_.restore(restored, Instant{});
  EXPECT_EQ(stores_.active().number, 9u);
  EXPECT_EQ(view()->memory.size(), 2u);
  stores_.rotate(Instant{});
  EXPECT_EQ(stores_.active().number, 10u);
}

}  // namespace
}  // namespace moraine::table
