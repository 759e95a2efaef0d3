#include "io/sim/sim_disk.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/sim/sim_disk_test_util.h"

namespace moraine {
namespace {

using namespace sim_disk_test;

TEST_F(SimDiskTest, ReadsGiveTheLastWriteAndZerosElsewhere) {
  create();
  EXPECT_EQ(disk->size(), kDiskSize);
  ASSERT_TRUE(write(1, "ab"));
  std::vector<Slice> pieces{sectors("x"), sectors("yz")};
  ASSERT_TRUE(world.run(disk->write(2 * kSectorSize, pieces, Durability::kCached)));
  EXPECT_EQ(read(0, 6), ".axyz.");
}

TEST_F(SimDiskTest, ARangePastTheEndIsRefused) {
  create();
  EXPECT_EQ(read_error(64), Errc::kInvalidArgument);
  EXPECT_EQ(write(63, "ab").error().code, Errc::kInvalidArgument);
  EXPECT_EQ(world.run(disk->allocate(kDiskSize, kSectorSize)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(disk->size(), kDiskSize);
  EXPECT_EQ(read(63, 1), ".");
}

TEST_F(SimDiskTest, OpeningFollowsTheOptionsAndTheLock) {
  EXPECT_EQ(open({}).error().code, Errc::kNotFound);
  create();
  EXPECT_EQ(open({}).error().code, Errc::kConflict);
  disk.reset();
  const DiskOptions again{.create = true, .create_size = kDiskSize};
  EXPECT_EQ(open(again).error().code, Errc::kAlreadyExists);
  EXPECT_EQ(open({.create = true}).error().code, Errc::kInvalidArgument);
  disk = open({.read_only = true}).value();
  EXPECT_EQ(write(0, "a").error().code, Errc::kReadOnly);
  EXPECT_EQ(read(0, 1), ".");
}

TEST_F(SimDiskTest, ACrashKeepsWhatASyncCovered) {
  create();
  ASSERT_TRUE(write(0, "abcd"));
  ASSERT_TRUE(sync());
  ASSERT_TRUE(write(8, "wxyz"));
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 12), "abcd........");
}

TEST_F(SimDiskTest, ADurableWriteNeedsNoSyncAndMakesOnlyItselfDurable) {
  create();
  ASSERT_TRUE(write(0, "aaaa"));
  ASSERT_TRUE(write(2, "bb", Durability::kDurable));
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 4), "..bb");
}

TEST_F(SimDiskTest, AKeptOlderWriteDoesNotHideALaterDurableOne) {
  create();
  ASSERT_TRUE(write(0, "aaaa"));
  ASSERT_TRUE(write(2, "bb", Durability::kDurable));
  power_cut(CrashPolicy::kKeep);
  EXPECT_EQ(read(0, 4), "aabb");
}

TEST_F(SimDiskTest, ASyncDoesNotCoverAWriteThatWasInFlightWhenItWasIssued) {
  create();
  int written = 0;
  int synced = 0;
  spawn(write_into(*disk, 0, "a", written));
  spawn(sync_into(*disk, synced));
  world.run_for(10ms);
  ASSERT_EQ(written + synced, 2);
  power_cut(CrashPolicy::kLose);
  EXPECT_EQ(read(0, 1), ".");
}

TEST_F(SimDiskTest, CompletionsOvertakeEachOtherAndTheQueueIsBoundedButFair) {
  create();
  int done = 0;
  const int count = static_cast<int>(3 * kSimDiskQueueDepth);
  for (int i = 0; i < count; ++i) spawn(write_into(*disk, 0, "a", done));
  EXPECT_EQ(drive().in_flight(), static_cast<std::size_t>(count));
  world.run_for(310us + Duration{1000 * kSimDiskQueueDepth * 5});
  EXPECT_LT(done, count);
  world.run_for(100ms);
  EXPECT_EQ(done, count);
}

// One un-synced write of four sectors, cut off, under many seeds.
TEST(SimDiskCrash, UnsyncedWritesAreKeptLostOrTornAtSectorBounds) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SimWorld world(seed);
    SimNode& node = world.add_node();
    const DiskOptions create{.create = true, .create_size = kDiskSize};
    auto disk = world.run(node.world().disks.open("disk", create)).value();
    ASSERT_TRUE(world.run(disk->write(0, {sectors("SSSS")}, Durability::kDurable)));
    ASSERT_TRUE(world.run(disk->write(0, {sectors("uuuu")}, Durability::kCached)));
    node.on_crash([&] { disk.reset(); });
    node.crash();
    ++seen[letters_of(node.disks().drive("disk").snapshot(), 0, 4)];
  }
  EXPECT_EQ(seen.size(), 16U);  // Every combination of old and new sectors.
  EXPECT_GT(seen["uuuu"], 300);
  EXPECT_GT(seen["SSSS"], 300);
  for (const auto& [letters, count] : seen) {
    EXPECT_EQ(letters.find_first_not_of("Su"), std::string::npos) << letters;
  }
}

TEST_F(SimDiskTest, WritesInFlightAtACrashMayArrive) {
  create();
  int done = 0;
  spawn(write_into(*disk, 0, "a", done));
  power_cut(CrashPolicy::kKeep);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(read(0, 1), "a");
}

TEST_F(SimDiskTest, ACrashReleasesTheLockAndTheOldDiskAnswersUnavailable) {
  create();
  std::unique_ptr<Disk> old = std::move(disk);
  node.crash();
  node.restart();
  disk = open({}).value();
  EXPECT_EQ(world.run(old->read(0, kSectorSize)).error().code, Errc::kUnavailable);
  EXPECT_EQ(world.run(old->write(0, {sectors("a")}, Durability::kDurable)).error().code,
            Errc::kUnavailable);
  old.reset();
  EXPECT_EQ(open({}).error().code, Errc::kConflict);
  EXPECT_EQ(read(0, 1), ".");
}

// The image at each I/O boundary, after a crash that keeps and one that loses un-synced writes.
TEST_F(SimDiskTest, ATestCanTakeACrashImageAtEachIoBoundary) {
  create();
  std::vector<std::string> kept;
  std::vector<std::string> lost;
  node.disks().on_io([&](const IoEvent& event) {
    EXPECT_EQ(event.number, kept.size());
    kept.push_back(letters_of(node.disks().crash_image("disk", CrashPolicy::kKeep), 0, 2));
    lost.push_back(letters_of(node.disks().crash_image("disk", CrashPolicy::kLose), 0, 2));
  });
  ASSERT_TRUE(write(0, "a"));
  ASSERT_TRUE(write(1, "b"));
  ASSERT_TRUE(sync());
  ASSERT_TRUE(write(0, "c", Durability::kDurable));
  using Images = std::vector<std::string>;
  EXPECT_EQ(kept, (Images{"a.", "a.", "ab", "ab", "ab", "ab", "cb", "cb"}));
  EXPECT_EQ(lost, (Images{"..", "..", "..", "..", "..", "ab", "ab", "cb"}));
  EXPECT_EQ(node.disks().io_events(), 8U);
}

TEST_F(SimDiskTest, ACrashImageOpensInAnotherWorld) {
  create();
  ASSERT_TRUE(write(0, "ab"));
  const DiskImage image = node.disks().crash_image("disk", CrashPolicy::kKeep);
  ASSERT_TRUE(write(0, "xy"));
  SimWorld elsewhere(9);
  SimNode& other = elsewhere.add_node();
  other.disks().install("copy", image);
  auto copy = elsewhere.run(other.world().disks.open("copy", {})).value();
  const Slice bytes = elsewhere.run(copy->read(0, 2 * kSectorSize)).value();
  EXPECT_EQ(letters_of(bytes), "ab");
  ASSERT_TRUE(elsewhere.run(copy->write(0, {sectors("z")}, Durability::kDurable)));
  EXPECT_EQ(letters_of(image, 0, 2), "ab");
}

TEST_F(SimDiskTest, TheHookMayCrashTheNodeBeforeOrAfterAWriteTakesEffect) {
  for (const bool done : {false, true}) {
    if (!disk) done ? void(disk = open({}).value()) : create();
    node.on_crash([this] { disk.reset(); });
    node.disks().on_io([&](const IoEvent& event) {
      if (event.done != done) return;
      node.disks().on_io(nullptr);
      node.crash(CrashPolicy::kLose);
    });
    const Result<void> result = write(0, "a", Durability::kDurable);
    EXPECT_EQ(result.error().code, Errc::kUnavailable);
    node.restart();
    EXPECT_EQ(letters_of(drive().snapshot(), 0, 1), done ? "a" : ".");
  }
}

TEST(DiskImage, CopiesAreIndependent) {
  DiskImage image(600 * kSectorSize);
  image.write(SimExtent(254 * kSectorSize, {sectors("abcd")}));
  DiskImage copy = image;
  copy.write(SimExtent(255 * kSectorSize, {sectors("x")}));
  copy.flip_bit(256 * kSectorSize, 0);
  EXPECT_EQ(letters_of(image, 253, 6), ".abcd.");
  EXPECT_EQ(letters_of(copy, 253, 6), ".ax?d.");
  EXPECT_EQ(image.written_sector_from(0), 254 * kSectorSize);
  EXPECT_EQ(image.written_sector_from(258 * kSectorSize), std::nullopt);
  image.resize(255 * kSectorSize);
  image.resize(600 * kSectorSize);
  EXPECT_EQ(letters_of(image, 253, 6), ".a....");
}

TEST(SimIntervalSet, JoinsNeighboursAndCountsWhatIsMissing) {
  SimIntervalSet set;
  set.insert(10, 20);
  set.insert(30, 40);
  EXPECT_EQ(set.missing(0, 50), 30U);
  EXPECT_EQ(set.missing(15, 35), 10U);
  set.insert(20, 30);
  EXPECT_EQ(set.missing(10, 40), 0U);
  set.insert(5, 12);
  EXPECT_EQ(set.total(), 35U);
  set.insert(0, 100);
  EXPECT_EQ(set.total(), 100U);
}

}  // namespace
}  // namespace moraine
