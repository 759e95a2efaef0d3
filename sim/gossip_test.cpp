// Gossip: what one disk knows durably reaches all others; and no disk deletes alone.

#include <utility>

#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

constexpr TabletId kTablet{9};

BlobId blob(Step step) {
  return BlobId(kTablet, 1, step, 1, 700, 4);
}

Collect barrier_at(GenStep at, std::uint32_t counter, std::vector<BlobId> keep = {}) {
  Collect command;
  command.tablet = kTablet;
  command.channel = 1;
  command.record_generation = 1;
  command.counter = counter;
  command.barrier = at;
  command.keep = std::move(keep);
  return command;
}

TEST(Gossip, ASoftBarrierOnOneDiskDeletesNothingUntilAQuorumHasIt) {
  Story story(Species::kBlock42);
  const BlobId id = blob(1);
  ASSERT_EQ(story.put(id), Status::kOk);
  const DiskSet before = story.holders(id);
  const auto lonely = static_cast<std::uint32_t>(std::countr_zero(before));
  story.world().network().isolate(story.nodes_of(disk_bit(lonely)).front());
  ASSERT_EQ(story.ask(lonely, barrier_at({1, 5}, 1)).status, Status::kOk);
  story.world().run_for(30s);
  EXPECT_EQ(story.holders(id), before) << "the single disk keeps its data";
  EXPECT_EQ(story.get(id), Status::kOk);
  story.world().network().heal();
  story.world().run_for(30s);
  EXPECT_EQ(story.get(id), Status::kNoData);
  EXPECT_EQ(story.holders(id), 0u);
}

TEST(Gossip, ABlockThatReachedOneDiskReachesAllEvenIfThatDiskDies) {
  Story story(Species::kBlock42);
  // Members 2 and 3 see only each other.
  story.world().network().partition(story.nodes_of(0b00001100), story.nodes_of(0b11110011));
  ASSERT_EQ(story.ask(2, BlockTablet{kTablet, 6, 1}).status, Status::kOk);
  story.world().run_for(5s);
  EXPECT_EQ(story.cluster().vdisk(3)->state().blocked(kTablet), 6u);
  story.crash(0b00000100);
  story.world().network().heal();
  story.world().run_for(5s);
  for (const std::uint32_t order : {0u, 1u, 3u, 4u, 5u, 6u, 7u}) {
    EXPECT_EQ(story.cluster().vdisk(order)->state().blocked(kTablet), 6u) << order;
  }
  EXPECT_EQ(story.put(BlobId(kTablet, 6, 1, 0, 10, 0)), Status::kBlocked);
}

TEST(Gossip, AKeepFlagThatReachedOneDiskHoldsWhenItsBarrierComesByGossip) {
  Story story(Species::kMirror3dc);
  const BlobId kept = blob(1);
  const BlobId gone = blob(2);
  ASSERT_EQ(story.put(kept), Status::kOk);
  ASSERT_EQ(story.put(gone), Status::kOk);
  ASSERT_EQ(story.ask(4, barrier_at({1, 5}, 1, {kept})).status, Status::kOk);
  story.world().run_for(30s);
  EXPECT_EQ(story.get(kept), Status::kOk);
  EXPECT_EQ(story.get(gone), Status::kNoData);
  for (std::uint32_t order = 0; order < 9; ++order) {
    EXPECT_EQ(story.cluster().vdisk(order)->state().barriers().soft(kTablet, 1), (GenStep{1, 5}));
  }
}

// Keeps the blob below a barrier.
CollectRequest keep_below_barrier(const BlobId& id) {
  CollectRequest keep;
  keep.tablet = kTablet;
  keep.channel = 1;
  keep.record_generation = 1;
  keep.counter = 1;
  keep.barrier = GenStep{1, 5};
  keep.keep = {id};
  return keep;
}

CollectRequest drop_after(const CollectRequest& keep) {
  CollectRequest drop = keep;
  ++drop.counter;
  drop.do_not_keep = std::exchange(drop.keep, {});
  return drop;
}

TEST(Gossip, DoNotKeepMarksGoOnceAllDisksHaveThem) {
  Story story(Species::kBlock42);
  const BlobId id = blob(1);
  ASSERT_EQ(story.put(id), Status::kOk);
  const CollectRequest keep = keep_below_barrier(id);
  ASSERT_EQ(story.collect(keep), Status::kOk);
  story.world().run_for(10s);
  ASSERT_EQ(story.collect(drop_after(keep)), Status::kOk);
  story.world().run_for(30s);
  for (std::uint32_t order = 0; order < story.disks(); ++order) {
    EXPECT_EQ(story.cluster().vdisk(order)->state().index().find(id), nullptr) << order;
  }
}

TEST(Gossip, ADiskThatMissedACollectionDoesNotRestoreTheBlob) {
  Story story(Species::kMirror3dc);
  const BlobId id = blob(1);
  ASSERT_EQ(story.put(id), Status::kOk);
  const CollectRequest keep = keep_below_barrier(id);
  ASSERT_EQ(story.collect(keep), Status::kOk);
  story.world().run_for(10s);
  const DiskSet sleeper = DiskSet{1} << std::countr_zero(story.holders(id));
  story.crash(sleeper);
  ASSERT_EQ(story.collect(drop_after(keep)), Status::kOk);
  story.world().run_for(60s);
  EXPECT_EQ(story.get(id), Status::kNoData);
  story.start(sleeper);
  story.settle();
  story.world().run_for(60s);
  EXPECT_EQ(story.get(id), Status::kNoData);
  EXPECT_EQ(story.holders(id), 0u);
}

}  // namespace
}  // namespace moraine::sim
