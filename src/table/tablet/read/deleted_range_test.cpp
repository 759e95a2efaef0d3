#include "table/tablet/read/deleted_range.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

std::string skipped(const DeletedRange& range, std::string key,
                    Timestamp timestamp = kSyncLastCommitted) {
  range.skip(key, timestamp);
  return key;
}

TEST(DeletedRange, IsSteppedOverFromWithinAndAtItsTimestampOrLater) {
  DeletedRange range;
  EXPECT_EQ(skipped(range, "b"), "b");
  range.publish(range.ticket(), "b", "m", 100);
  EXPECT_EQ(skipped(range, "b"), "m");
  EXPECT_EQ(skipped(range, "k", 100), "m");
  EXPECT_EQ(skipped(range, "k", 99), "k");
  EXPECT_EQ(skipped(range, "a"), "a");
  EXPECT_EQ(skipped(range, "m"), "m");
}

TEST(DeletedRange, GrowsWhereTheNextOneTouchesIt) {
  DeletedRange range;
  range.publish(range.ticket(), "", "c", 100);
  range.publish(range.ticket(), "c", "f", 90);
  EXPECT_EQ(skipped(range, ""), "f");
  EXPECT_EQ(skipped(range, "", 99), "");
  range.publish(range.ticket(), "x", "z", 50);
  EXPECT_EQ(skipped(range, ""), "");
  EXPECT_EQ(skipped(range, "x", 50), "z");
}

TEST(DeletedRange, AWriteIntoItWithdrawsItAtOnceAndOneBesideItDoesNot) {
  DeletedRange range;
  range.publish(range.ticket(), "b", "m", 100);
  range.end_write(range.begin_write("m", "z"));
  range.end_write(range.begin_write("a", "a"));
  EXPECT_EQ(skipped(range, "c"), "m");
  const std::uint64_t write = range.begin_write("a", "b");
  EXPECT_EQ(skipped(range, "c"), "c");
  range.end_write(write);
  EXPECT_EQ(skipped(range, "c"), "c");
}

TEST(DeletedRange, IsNotPublishedWhenAWriteIntoItWasOpenWhenTheScanBeganOrCameLater) {
  DeletedRange range;
  const std::uint64_t open = range.begin_write("c", "c");
  const std::uint64_t during = range.ticket();
  range.end_write(open);
  range.publish(during, "b", "m", 100);
  EXPECT_EQ(skipped(range, "b"), "b");

  const std::uint64_t before = range.ticket();
  range.end_write(range.begin_write("c", "c"));
  range.publish(before, "b", "m", 100);
  EXPECT_EQ(skipped(range, "b"), "b");

  range.publish(range.ticket(), "b", "m", 100);
  EXPECT_EQ(skipped(range, "b"), "m");
}

TEST(DeletedRange, WritesThatEndInAnotherOrderAreWaitedFor) {
  DeletedRange range;
  const std::uint64_t first = range.begin_write("c", "c");
  const std::uint64_t second = range.begin_write("x", "x");
  range.end_write(second);
  const std::uint64_t ticket = range.ticket();
  EXPECT_EQ(ticket, first);
  range.end_write(first);
  EXPECT_GT(range.ticket(), second);
}

TEST(DeletedRange, IsNotPublishedWhenMoreWritesCameThanAreRemembered) {
  DeletedRange range;
  const std::uint64_t ticket = range.ticket();
  for (std::size_t i = 0; i <= kRecentWritesMax; ++i) range.end_write(range.begin_write("x", "y"));
  range.publish(ticket, "b", "m", 100);
  EXPECT_EQ(skipped(range, "b"), "b");
  range.publish(range.ticket(), "b", "m", 100);
  EXPECT_EQ(skipped(range, "b"), "m");
  range.forget();
  EXPECT_EQ(skipped(range, "b"), "b");
}

}  // namespace
}  // namespace moraine::table
