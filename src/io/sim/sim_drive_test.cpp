#include "io/sim/sim_drive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "io/sim/sim_disk_test_util.h"

namespace moraine {
namespace {

using namespace sim_disk_test;
using SimDriveTest = SimDiskTest;

TEST_F(SimDriveTest, ReadErrorsStrikeOnDemandAndAtBadSectors) {
  create();
  drive().faults().read_error.next = 1;
  EXPECT_EQ(read_error(0), Errc::kIo);
  EXPECT_EQ(read(0, 1), ".");
  drive().fail_reads_at(3 * kSectorSize, kSectorSize);
  EXPECT_EQ(read_error(3), Errc::kIo);
  EXPECT_EQ(read(4, 1), ".");
  ASSERT_TRUE(write(3, "a"));
  EXPECT_EQ(read(3, 1), "a");
  EXPECT_EQ(world.faults()[FaultKind::kReadError], 2U);
}

TEST_F(SimDriveTest, AFailedWriteLeavesAnyOfItsSectors) {
  create();
  ASSERT_TRUE(write(0, "aaaaaaaa", Durability::kDurable));
  drive().faults().write_error.next = 1;
  EXPECT_EQ(write(0, "bbbbbbbb", Durability::kDurable).error().code, Errc::kIo);
  EXPECT_EQ(read(0, 8).find_first_not_of("ab"), std::string::npos);
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 8), "aaaaaaaa");
  EXPECT_EQ(world.faults()[FaultKind::kWriteError], 1U);
}

TEST(SimDriveSync, AfterAFailedSyncALaterSyncPromisesNothingAboutEarlierWrites) {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimWorld world(seed);
    SimNode& node = world.add_node();
    const DiskOptions create{.create = true, .create_size = kDiskSize};
    auto disk = world.run(node.world().disks.open("disk", create)).value();
    ASSERT_TRUE(world.run(disk->write(0, {sectors("a")}, Durability::kCached)));
    node.disks().faults("disk").sync_error.next = 1;
    EXPECT_EQ(world.run(disk->sync()).error().code, Errc::kIo);
    ASSERT_TRUE(world.run(disk->sync()));
    const Slice seen = world.run(disk->read(0, kSectorSize)).value();
    EXPECT_EQ(letters_of(seen), "a");
    node.on_crash([&] { disk.reset(); });
    node.crash();
    if (letters_of(node.disks().drive("disk").snapshot(), 0, 1) == ".") ++lost;
    EXPECT_EQ(world.faults()[FaultKind::kSyncError], 1U);
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 50);
}

TEST_F(SimDriveTest, WritesPastTheCapacityFailAndAllocatedRangesDoNot) {
  create();
  drive().faults().capacity = 8 * kSectorSize;
  ASSERT_TRUE(world.run(disk->allocate(0, 6 * kSectorSize)));
  ASSERT_TRUE(write(10, "ab"));
  EXPECT_EQ(drive().allocated(), 8 * kSectorSize);
  EXPECT_EQ(write(20, "c").error().code, Errc::kNoSpace);
  EXPECT_EQ(world.run(disk->allocate(0, 9 * kSectorSize)).error().code, Errc::kNoSpace);
  ASSERT_TRUE(write(0, "abcdef"));
  ASSERT_TRUE(write(10, "x"));
  drive().faults().no_space.next = 1;
  EXPECT_EQ(write(0, "a").error().code, Errc::kNoSpace);
  EXPECT_EQ(world.faults()[FaultKind::kNoSpace], 3U);
}

TEST_F(SimDriveTest, ADiscardReleasesSpaceAndLeavesTheRestUnchanged) {
  create();
  ASSERT_TRUE(write(0, "abcdefgh", Durability::kDurable));
  drive().faults().capacity = 8 * kSectorSize;
  EXPECT_EQ(write(20, "x").error().code, Errc::kNoSpace);
  ASSERT_TRUE(world.run(disk->discard(2 * kSectorSize, 4 * kSectorSize)));
  EXPECT_EQ(drive().allocated(), 4 * kSectorSize);
  const std::string now = read(0, 8);
  EXPECT_EQ(now.substr(0, 2) + now.substr(6), "abgh");
  EXPECT_EQ(now.find_first_of("cdef"), std::string::npos);
  ASSERT_TRUE(write(20, "x"));
  drive().faults().no_discard = true;
  EXPECT_EQ(world.run(disk->discard(0, kSectorSize)).error().code, Errc::kUnsupported);
}

TEST_F(SimDriveTest, AnUnsyncedDiscardMayBeUndoneByAPowerCut) {
  create();
  ASSERT_TRUE(write(0, "abcd", Durability::kDurable));
  ASSERT_TRUE(world.run(disk->discard(kSectorSize, 2 * kSectorSize)));
  EXPECT_EQ(letters_of(drive().crash_image(CrashPolicy::kLose), 0, 4), "abcd");
  EXPECT_NE(letters_of(drive().crash_image(CrashPolicy::kKeep), 0, 4), "abcd");
  ASSERT_TRUE(sync());
  EXPECT_NE(letters_of(drive().crash_image(CrashPolicy::kLose), 0, 4), "abcd");
}

TEST_F(SimDriveTest, BitRotIsVisibleAndDurable) {
  create();
  ASSERT_TRUE(write(0, "aa", Durability::kDurable));
  drive().corrupt(kSectorSize + 17, 3);
  EXPECT_EQ(read(0, 2), "a?");
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 2), "a?");
  ASSERT_TRUE(write(1, "b", Durability::kDurable));
  EXPECT_EQ(read(0, 2), "ab");
}

TEST_F(SimDriveTest, BitRotUnderAnUnsyncedWriteStaysAfterASync) {
  create();
  ASSERT_TRUE(write(0, "a"));
  drive().corrupt(0);
  ASSERT_TRUE(sync());
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 1), "?");
}

TEST_F(SimDriveTest, RandomBitRotHitsAWrittenSector) {
  create();
  ASSERT_TRUE(write(40, "a"));
  drive().faults().bit_rot.next = 1;
  ASSERT_TRUE(write(10, "b"));
  const std::string both = read(10, 1) + read(40, 1);
  EXPECT_TRUE(both == "?a" || both == "b?") << both;
  EXPECT_EQ(world.faults()[FaultKind::kBitRot], 1U);
}

TEST_F(SimDriveTest, AMisdirectedWriteLandsElsewhere) {
  create();
  ASSERT_TRUE(write(0, "S", Durability::kDurable));
  ASSERT_TRUE(write(5, "u"));
  drive().faults().misdirect.one_in = 1;
  power_cut();
  drive().faults().misdirect.one_in = 0;
  const std::string all = read(0, 64);
  EXPECT_EQ(std::count(all.begin(), all.end(), 'u'), 1) << all;
  EXPECT_EQ(world.faults()[FaultKind::kMisdirectedWrite], 1U);
}

TEST_F(SimDriveTest, ALyingDiskAcknowledgesWhatItLoses) {
  create();
  drive().faults().lie.one_in = 1;
  ASSERT_TRUE(write(0, "a", Durability::kDurable));
  ASSERT_TRUE(write(1, "b"));
  ASSERT_TRUE(sync());
  EXPECT_EQ(read(0, 2), "ab");
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 2), "..");
  EXPECT_EQ(world.faults()[FaultKind::kLie], 2U);
}

TEST_F(SimDriveTest, ASlowDiskTakesItsFactorLonger) {
  create();
  drive().faults().slow_factor = 1000;
  const Instant before = world.executor().now();
  EXPECT_EQ(read(0, 1), ".");
  EXPECT_GE(world.executor().now() - before, 50ms);
  EXPECT_EQ(world.faults()[FaultKind::kDiskSlow], 1U);
}

TEST_F(SimDriveTest, AStuckDiskAnswersWhenItIsUnstuck) {
  create();
  drive().set_stuck(true);
  int done = 0;
  spawn(write_into(*disk, 0, "a", done));
  world.run_for(1h);
  EXPECT_EQ(done, 0);
  drive().set_stuck(false);
  world.run_for(1ms);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(world.faults()[FaultKind::kDiskStuck], 1U);
}

TEST_F(SimDriveTest, RequestsOfAStuckDiskEndWhenTheNodeCrashes) {
  create();
  drive().set_stuck(true);
  int done = 0;
  spawn(write_into(*disk, 0, "a", done));
  world.run_for(1s);
  node.on_crash([&] { disk.reset(); });
  node.crash();
  drive().set_stuck(false);
  world.run_for(1s);
  EXPECT_EQ(done, 0);
}

TEST_F(SimDriveTest, AReadOnlyDiskRefusesWritesAndWriters) {
  create();
  drive().faults().read_only = true;
  EXPECT_EQ(write(0, "a").error().code, Errc::kReadOnly);
  EXPECT_EQ(world.run(disk->allocate(0, kSectorSize)).error().code, Errc::kReadOnly);
  EXPECT_EQ(read(0, 1), ".");
  disk.reset();
  EXPECT_EQ(open({}).error().code, Errc::kReadOnly);
  EXPECT_TRUE(open({.read_only = true}));
  EXPECT_EQ(world.faults()[FaultKind::kReadOnly], 3U);
}

TEST_F(SimDriveTest, AWipedDiskIsZerosOfTheSameSizeAndARemovedOneIsNotFound) {
  create();
  ASSERT_TRUE(write(0, "a", Durability::kDurable));
  drive().wipe();
  EXPECT_EQ(read(0, 1), ".");
  EXPECT_EQ(disk->size(), kDiskSize);
  disk.reset();
  drive().remove();
  EXPECT_EQ(open({}).error().code, Errc::kNotFound);
}

TEST_F(SimDriveTest, ATruncatedDiskLosesItsTail) {
  create();
  ASSERT_TRUE(write(0, "abcd", Durability::kDurable));
  disk.reset();
  drive().truncate(2 * kSectorSize);
  disk = open({}).value();
  EXPECT_EQ(disk->size(), 2 * kSectorSize);
  EXPECT_EQ(read(0, 2), "ab");
  EXPECT_EQ(read_error(2), Errc::kInvalidArgument);
}

}  // namespace
}  // namespace moraine
