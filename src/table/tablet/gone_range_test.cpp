#include "table/tablet/gone_range.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

std::string skipped(const GoneRange& gone, std::string key,
                    Timestamp timestamp = kSyncLastCommitted) {
  gone.skip(key, timestamp);
  return key;
}

TEST(GoneRange, IsSteppedOverFromWithinAndAtItsTimestampOrLater) {
  GoneRange gone;
  EXPECT_EQ(skipped(gone, "b"), "b");
  gone.learn(gone.ticket(), "b", "m", 100);
  EXPECT_EQ(skipped(gone, "b"), "m");
  EXPECT_EQ(skipped(gone, "k", 100), "m");
  EXPECT_EQ(skipped(gone, "k", 99), "k");
  EXPECT_EQ(skipped(gone, "a"), "a");
  EXPECT_EQ(skipped(gone, "m"), "m");
}

TEST(GoneRange, GrowsWhereTheNextOneTouchesIt) {
  GoneRange gone;
  gone.learn(gone.ticket(), "", "c", 100);
  gone.learn(gone.ticket(), "c", "f", 90);
  EXPECT_EQ(skipped(gone, ""), "f");
  EXPECT_EQ(skipped(gone, "", 99), "");
  gone.learn(gone.ticket(), "x", "z", 50);
  EXPECT_EQ(skipped(gone, ""), "");
  EXPECT_EQ(skipped(gone, "x", 50), "z");
}

TEST(GoneRange, AWriteIntoItWithdrawsItAtOnceAndOneBesideItDoesNot) {
  GoneRange gone;
  gone.learn(gone.ticket(), "b", "m", 100);
  gone.end_write(gone.begin_write("m", "z"));
  gone.end_write(gone.begin_write("a", "a"));
  EXPECT_EQ(skipped(gone, "c"), "m");
  const std::uint64_t write = gone.begin_write("a", "b");
  EXPECT_EQ(skipped(gone, "c"), "c");
  gone.end_write(write);
  EXPECT_EQ(skipped(gone, "c"), "c");
}

TEST(GoneRange, IsNotLearntWhenAWriteIntoItWasOpenWhenTheScanBeganOrCameLater) {
  GoneRange gone;
  const std::uint64_t open = gone.begin_write("c", "c");
  const std::uint64_t during = gone.ticket();
  gone.end_write(open);
  gone.learn(during, "b", "m", 100);
  EXPECT_EQ(skipped(gone, "b"), "b");

  const std::uint64_t before = gone.ticket();
  gone.end_write(gone.begin_write("c", "c"));
  gone.learn(before, "b", "m", 100);
  EXPECT_EQ(skipped(gone, "b"), "b");

  gone.learn(gone.ticket(), "b", "m", 100);
  EXPECT_EQ(skipped(gone, "b"), "m");
}

TEST(GoneRange, WritesThatEndInAnotherOrderAreWaitedFor) {
  GoneRange gone;
  const std::uint64_t first = gone.begin_write("c", "c");
  const std::uint64_t second = gone.begin_write("x", "x");
  gone.end_write(second);
  const std::uint64_t ticket = gone.ticket();
  EXPECT_EQ(ticket, first);
  gone.end_write(first);
  EXPECT_GT(gone.ticket(), second);
}

TEST(GoneRange, IsNotLearntWhenMoreWritesCameThanAreRemembered) {
  GoneRange gone;
  const std::uint64_t ticket = gone.ticket();
  for (std::size_t i = 0; i <= kWritesRemembered; ++i) gone.end_write(gone.begin_write("x", "y"));
  gone.learn(ticket, "b", "m", 100);
  EXPECT_EQ(skipped(gone, "b"), "b");
  gone.learn(gone.ticket(), "b", "m", 100);
  EXPECT_EQ(skipped(gone, "b"), "m");
  gone.forget();
  EXPECT_EQ(skipped(gone, "b"), "b");
}

}  // namespace
}  // namespace moraine::table
