// Moving back: members leave a host, free its space, and are placed there again.

#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

constexpr std::uint32_t kMoved = 2;
constexpr DiskSet kOthers = 0b00110000;  // May be lost at the end.

Task<void> clean(std::shared_ptr<VDisk> disk, const SegmentSet& segments) {
  (void)co_await disk->evacuate(segments);
}

class MovesBack : public testing::Test {
 protected:
  MovesBack() : story_(Species::kBlock42), home_(cluster().host_of(kMoved)) {}

  Cluster& cluster() { return story_.cluster(); }
  std::shared_ptr<VDisk> at_home() { return cluster().blob_node(home_)->vdisk(1, 0); }

  void put_some() {
    for (int i = 0; i < 40; ++i) {
      ++step_;
      const BlobId id(TabletId{20}, 1, step_, 0, 5'000 + step_ % 900, 1);
      ASSERT_EQ(story_.put(id), Status::kOk);
      confirmed_.push_back(id);
    }
  }
  void expect_all() {
    story_.settle();
    story_.crash(kOthers);
    for (const BlobId& id : confirmed_) EXPECT_EQ(story_.get(id), Status::kOk) << id.to_string();
    story_.start(kOthers);
    story_.settle();
  }
  // The member moves to the spare, is complete there, and its old place is free.
  void move_away() {
    cluster().move(kMoved, *cluster().spare(), {});
    story_.settle();
    for (int i = 0; i < 300 && !at_home()->vacant(); ++i) story_.world().run_for(100ms);
    ASSERT_TRUE(at_home()->vacant());
  }

  Story story_;
  const std::size_t home_;
  Step step_ = 0;
  std::vector<BlobId> confirmed_;
};

TEST_F(MovesBack, ARetiredMemberFreesItsSpaceOnceItsSuccessorIsComplete) {
  put_some();
  Device& device = *cluster().blob_node(home_)->device(1);
  const std::uint64_t before = device.segments().live_bytes();
  // A successor that cannot be reached does not count as complete.
  story_.world().network().isolate(cluster().node_id(*cluster().spare()));
  cluster().move(kMoved, *cluster().spare(), {home_});
  story_.world().run_for(30s);
  EXPECT_EQ(at_home()->phase(), VDisk::Phase::kRetired);
  EXPECT_FALSE(at_home()->vacant());
  EXPECT_GE(device.segments().live_bytes(), before);
  story_.world().network().heal();
  story_.settle();
  story_.world().run_for(10s);
  EXPECT_TRUE(at_home()->vacant());
  EXPECT_TRUE(at_home()->state().index().entries().empty());
  EXPECT_LT(device.segments().live_bytes(), before / 2);
  // It stays free when the host restarts with the newest config.
  cluster().crash(home_);
  cluster().start(home_);
  story_.world().run_for(5s);
  EXPECT_LT(cluster().blob_node(home_)->device(1)->segments().live_bytes(), before / 2);
  expect_all();
}

TEST_F(MovesBack, TheSameMemberReturns) {
  put_some();
  move_away();
  put_some();
  cluster().move(kMoved, home_, {});
  EXPECT_EQ(cluster().host_of(kMoved), home_);
  expect_all();
  EXPECT_EQ(at_home()->phase(), VDisk::Phase::kReady);
}

TEST_F(MovesBack, AnotherMemberComesToThePlace) {
  put_some();
  move_away();
  put_some();
  cluster().move(kMoved + 1, home_, {});
  expect_all();
  EXPECT_EQ(at_home()->state().order(), kMoved + 1);
  cluster().crash(home_);
  cluster().start(home_);
  expect_all();
}

TEST_F(MovesBack, TheSameMemberReturnsBeforeItsSpaceWasFreed) {
  put_some();
  cluster().move(kMoved, *cluster().spare(), {home_});
  for (int i = 0; i < 300 && !cluster().ready(kMoved); ++i) story_.world().run_for(100ms);
  put_some();
  cluster().move(kMoved, home_, {});
  expect_all();
}

TEST_F(MovesBack, ItReturnsAfterItMissedThatItWasMoved) {
  put_some();
  cluster().crash(home_);
  cluster().move(kMoved, *cluster().spare(), {});
  story_.settle();
  put_some();
  // It starts with the first generation, reaches no other node, and is informed of the third.
  story_.world().network().isolate(cluster().node_id(home_));
  cluster().start(home_);
  story_.world().run_for(5s);
  ASSERT_EQ(at_home()->state().meta().config->generation, 1u);
  cluster().move(kMoved, home_, {});
  story_.world().run_for(1s);
  story_.world().network().heal();
  expect_all();
}

TEST_F(MovesBack, AMemberThatRanThroughBothMovesStartsOver) {
  put_some();
  story_.world().network().isolate(cluster().node_id(home_));
  cluster().move(kMoved, *cluster().spare(), {});
  story_.settle();
  put_some();
  cluster().move(kMoved, home_, {});
  story_.world().run_for(1s);
  story_.world().network().heal();
  story_.world().run_for(5s);  // Until it has asked its neighbours.
  expect_all();
}

TEST_F(MovesBack, WhatWasLeftBehindIsFoundWhenTheHostStartsWithTheNewConfig) {
  put_some();
  cluster().crash(home_);
  cluster().move(kMoved, *cluster().spare(), {home_});
  story_.settle();
  cluster().start(home_);
  story_.world().run_for(10s);
  ASSERT_TRUE(at_home()) << "its space is being freed";
  EXPECT_TRUE(at_home()->vacant());
  expect_all();
}

TEST_F(MovesBack, AnOldCopyOfADeviceIsBroken) {
  put_some();
  story_.world().run_for(5s);
  const DiskImage copy = cluster().drive(home_).snapshot();
  put_some();
  story_.world().run_for(5s);
  cluster().crash(home_);
  cluster().drive(home_).install(copy);
  cluster().start(home_);
  story_.world().run_for(10s);
  EXPECT_EQ(at_home()->phase(), VDisk::Phase::kBroken);
  EXPECT_TRUE(at_home()->broken_reason().contains("an old copy of the disk"))
      << at_home()->broken_reason();
  story_.replace(disk_bit(kMoved));
  expect_all();
}

TEST_F(MovesBack, AnUnchangedCopyOfADeviceIsReady) {
  put_some();
  story_.world().run_for(10s);
  const DiskImage copy = cluster().drive(home_).snapshot();
  cluster().crash(home_);
  cluster().drive(home_).install(copy);
  cluster().start(home_);
  story_.world().run_for(10s);
  EXPECT_EQ(at_home()->phase(), VDisk::Phase::kReady) << at_home()->broken_reason();
  expect_all();
}

// The config with disks 1, 2 and 3 permuted.
GroupConfig reordered(GroupConfig config, std::uint32_t generation) {
  config.generation = generation;
  std::rotate(config.disks.begin() + 1, config.disks.begin() + 2, config.disks.begin() + 4);
  return config;
}

TEST_F(MovesBack, ANewOrderOfTheDisksIsRefused) {
  put_some();
  const GroupConfig wrong = reordered(cluster().config(), 2);
  for (std::uint32_t order = 0; order < story_.disks(); ++order) {
    const std::size_t host = cluster().host_of(order);
    const auto taken = story_.world().run(cluster().blob_node(host)->reconfigure(wrong));
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Errc::kConflict);
    EXPECT_TRUE(taken.error().message().contains("3 disks at once")) << taken.error().message();
    EXPECT_EQ(story_.ask(order, Configure{wrong}).status, Status::kError);
  }
  // A node does not start with it.
  const GroupConfig right = cluster().config();
  cluster().crash(home_);
  cluster().set_known(home_, wrong);
  cluster().start(home_);
  story_.world().run_for(5s);
  ASSERT_TRUE(cluster().start_failure(home_));
  EXPECT_EQ(cluster().start_failure(home_)->code, Errc::kConflict);
  cluster().crash(home_);
  cluster().set_known(home_, right);
  cluster().start(home_);
  expect_all();
}

TEST_F(MovesBack, ANewOrderAfterUnknownGenerationsCostsNothing) {
  put_some();
  const GroupConfig wrong = reordered(cluster().config(), 3);
  for (std::uint32_t order = 0; order < story_.disks(); ++order) {
    const std::size_t host = cluster().host_of(order);
    const bool taken =
        story_.world().run(cluster().blob_node(host)->reconfigure(wrong)).has_value();
    EXPECT_EQ(taken, order < 1 || order > 3) << order;
  }
  story_.world().run_for(30s);
  GroupConfig right = cluster().config();
  right.generation = 5;
  for (std::uint32_t order = 0; order < story_.disks(); ++order) {
    const std::size_t host = cluster().host_of(order);
    EXPECT_TRUE(story_.world().run(cluster().blob_node(host)->reconfigure(right))) << order;
  }
  expect_all();
}

TEST_F(MovesBack, AMemberThatBecomesAnotherOneKeepsItsDataUntilItsSuccessorIsComplete) {
  put_some();
  const std::size_t spare = *cluster().spare();
  // The old host does not learn of the first move, and the new one reaches no other node.
  story_.world().network().isolate(cluster().node_id(home_));
  story_.world().network().isolate(cluster().node_id(spare));
  cluster().move(kMoved, spare, {});
  story_.world().run_for(1s);
  cluster().move(kMoved + 1, home_, {});
  story_.world().run_for(20s);
  EXPECT_EQ(at_home()->phase(), VDisk::Phase::kRetired);
  EXPECT_EQ(at_home()->state().meta().config->generation, 3u);
  EXPECT_FALSE(at_home()->state().index().entries().empty());
  cluster().crash(home_);
  cluster().start(home_);
  story_.world().run_for(20s);
  EXPECT_EQ(at_home()->phase(), VDisk::Phase::kRetired);
  EXPECT_FALSE(at_home()->state().index().entries().empty());
  story_.world().network().heal();
  expect_all();
  EXPECT_EQ(at_home()->state().order(), kMoved + 1);
}

TEST_F(MovesBack, AConfigTakenWhileTheSpaceIsFreedStays) {
  put_some();
  cluster().move(kMoved, *cluster().spare(), {home_});
  story_.settle();
  ASSERT_FALSE(at_home()->vacant());
  // The new config is still being written when the member begins to free its space.
  cluster().drive(home_).faults().slow_factor = 20'000;
  cluster().move(kMoved, home_, {});
  story_.world().run_for(1ms);
  std::uint32_t newest = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::uint32_t known = at_home()->state().meta().config->generation;
    EXPECT_GE(known, newest);
    newest = std::max(newest, known);
    story_.world().run_for(10ms);
  }
  EXPECT_EQ(newest, 3u);
  cluster().drive(home_).faults() = DiskFaults{};
  expect_all();
}

TEST_F(MovesBack, NothingIsMovedBehindTheRecordThatForgetsIt) {
  put_some();
  story_.world().network().isolate(cluster().node_id(*cluster().spare()));
  cluster().move(kMoved, *cluster().spare(), {home_});
  story_.world().run_for(2s);
  story_.world().network().heal();
  ASSERT_FALSE(at_home()->state().index().entries().empty());
  const SegmentSet all(cluster().blob_node(home_)->device(1)->segments().count(), true);
  {
    // Cleaning runs all the time.
    TaskScope cleaning;
    cluster().drive(home_).faults().slow_factor = 100;
    for (int i = 0; i < 60'000 && !at_home()->vacant(); ++i) {
      if (cleaning.live() < 4) cleaning.spawn(clean(at_home(), all));
      story_.world().run_for(1ms);
    }
    while (cleaning.live() > 0) story_.world().run_for(1ms);
  }
  ASSERT_TRUE(at_home()->vacant());
  cluster().drive(home_).faults() = DiskFaults{};
  story_.world().run_for(1s);
  const GroupConfig newest = cluster().config();
  cluster().crash(home_);
  cluster().set_known(home_, newest);
  cluster().start(home_);
  story_.world().run_for(5s);
  const auto& owners = cluster().blob_node(home_)->device(1)->owners();
  ASSERT_EQ(owners.size(), 1u);
  const auto disk = std::static_pointer_cast<VDisk>(owners.begin()->second);
  EXPECT_TRUE(disk->state().index().entries().empty());
  expect_all();
}

TEST(MovesBackAlone, AGroupOfOneKeepsItsOnlyCopy) {
  for (const bool restarted : {false, true}) {
    Story story(Species::kNone);
    Cluster& cluster = story.cluster();
    const std::size_t home = cluster.host_of(0);
    std::vector<BlobId> confirmed;
    for (Step step = 1; step <= 20; ++step) {
      const BlobId id(TabletId{20}, 1, step, 0, 5'000, 1);
      ASSERT_EQ(story.put(id), Status::kOk);
      confirmed.push_back(id);
    }
    // Moved by mistake, then back.
    cluster.move(0, *cluster.spare(), {home});
    story.world().run_for(5s);
    if (restarted) {
      cluster.crash(home);
      cluster.start(home);
      story.world().run_for(5s);
    }
    cluster.move(0, home, {});
    story.world().run_for(5s);
    story.settle();
    EXPECT_EQ(cluster.vdisk(0)->state().meta().config->generation, 3u);
    for (const BlobId& id : confirmed) EXPECT_EQ(story.get(id), Status::kOk) << id.to_string();
  }
}

}  // namespace
}  // namespace moraine::sim
