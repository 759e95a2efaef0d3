#include <gtest/gtest.h>

#include "io/sim/sim_disk_test_util.h"

namespace moraine {
namespace {

using namespace sim_disk_test;

TEST_F(SimDiskTest, AReaderGivesAtOnceWhatWasWritten) {
  create();
  ASSERT_TRUE(write(1, "ab"));
  const auto reader = disk->reader();
  const Instant before = world.executor().now();
  EXPECT_EQ(letters_of(reader->read(0, 4 * kSectorSize).value()), ".ab.");
  EXPECT_EQ(world.executor().now(), before);
  EXPECT_EQ(reader->read(kDiskSize, kSectorSize).error().code, Errc::kInvalidArgument);
}

TEST_F(SimDiskTest, AReaderMeetsTheFaultsOfItsDrive) {
  create();
  ASSERT_TRUE(write(1, "a"));
  const auto reader = disk->reader();
  drive().fail_reads_at(kSectorSize, kSectorSize);
  EXPECT_EQ(reader->read(kSectorSize, kSectorSize).error().code, Errc::kIo);
  drive().set_stuck(true);
  EXPECT_EQ(reader->read(0, kSectorSize).error().code, Errc::kUnavailable);
  drive().set_stuck(false);
  EXPECT_TRUE(reader->read(0, kSectorSize));
}

TEST_F(SimDiskTest, AReaderEndsWithTheLifeOfItsNode) {
  create();
  const auto reader = disk->reader();
  power_cut();
  EXPECT_EQ(reader->read(0, kSectorSize).error().code, Errc::kUnavailable);
  EXPECT_TRUE(disk->reader()->read(0, kSectorSize));
}

}  // namespace
}  // namespace moraine
