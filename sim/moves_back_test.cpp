// The story of a place: members leave it, give its room back, and are placed there again.

#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

constexpr std::uint32_t kMoved = 2;
constexpr DiskSet kOthers = 0b00110000;  // May be lost at the end.

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
  // The member goes to the spare, is complete there, and its old place is free.
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

TEST_F(MovesBack, ARetiredMemberGivesItsRoomBackOnceItsSuccessorIsComplete) {
  put_some();
  Device& device = *cluster().blob_node(home_)->device(1);
  const std::uint64_t before = device.segments().live_bytes();
  // A successor that cannot be reached is not complete.
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
  // It stays free when the host starts again with the newest config.
  cluster().crash(home_);
  cluster().start(home_);
  story_.world().run_for(5s);
  EXPECT_LT(cluster().blob_node(home_)->device(1)->segments().live_bytes(), before / 2);
  expect_all();
}

TEST_F(MovesBack, TheSameMemberComesBack) {
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

TEST_F(MovesBack, TheSameMemberComesBackBeforeItsRoomWasGivenBack) {
  put_some();
  cluster().move(kMoved, *cluster().spare(), {home_});
  for (int i = 0; i < 300 && !cluster().ready(kMoved); ++i) story_.world().run_for(100ms);
  put_some();
  cluster().move(kMoved, home_, {});
  expect_all();
}

TEST_F(MovesBack, ItComesBackAfterItMissedThatItWasMoved) {
  put_some();
  cluster().crash(home_);
  cluster().move(kMoved, *cluster().spare(), {});
  story_.settle();
  put_some();
  // It starts with the first generation, reaches nobody, and is told of the third.
  story_.world().network().isolate(cluster().node_id(home_));
  cluster().start(home_);
  story_.world().run_for(5s);
  ASSERT_EQ(at_home()->state().meta().config->generation, 1u);
  cluster().move(kMoved, home_, {});
  story_.world().run_for(1s);
  story_.world().network().heal();
  expect_all();
}

TEST_F(MovesBack, AMemberThatRanOnThroughBothMovesBeginsAnew) {
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
  ASSERT_TRUE(at_home()) << "its room is being given back";
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

}  // namespace
}  // namespace moraine::sim
