#include "tablet/channel_garbage.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

using Ids = std::vector<BlobId>;

BlobId blob(Step step, Generation generation = 5) {
  return BlobId(TabletId{1}, generation, step, kFirstDataChannel, 10, 1);
}

TEST(ChannelGarbage, NothingIsWantedUntilSomethingIsDeleted) {
  ChannelGarbage garbage;
  EXPECT_FALSE(garbage.wanted());
  garbage.created(blob(1));
  garbage.adopted(blob(1, 4));
  EXPECT_FALSE(garbage.wanted());
  garbage.deleted(blob(1));
  EXPECT_TRUE(garbage.wanted());
}

TEST(ChannelGarbage, ABarrierKeepsWhatIsAliveBelowItAndNotWhatIsAbove) {
  ChannelGarbage garbage;
  for (const Step step : {1u, 2u, 3u}) garbage.created(blob(step));
  garbage.deleted(blob(2));
  const auto command = garbage.next({5, 2});
  EXPECT_EQ(command.keep, Ids{blob(1)});
  EXPECT_TRUE(command.do_not_keep.empty()) << "the barrier takes it, it never had a flag";
  garbage.done(command);
  EXPECT_FALSE(garbage.wanted());
  EXPECT_EQ(garbage.next({5, 3}).keep, Ids{blob(3)}) << "a blob is kept once";
}

TEST(ChannelGarbage, ADeletedBlobAboveTheBarrierIsStillToBeTaken) {
  ChannelGarbage garbage;
  garbage.created(blob(7));
  garbage.deleted(blob(7));
  garbage.done(garbage.next({5, 6}));
  EXPECT_TRUE(garbage.wanted());
  garbage.done(garbage.next({5, 7}));
  EXPECT_FALSE(garbage.wanted());
}

TEST(ChannelGarbage, AKeptBlobThatIsDeletedLosesItsFlagOnce) {
  ChannelGarbage garbage;
  garbage.created(blob(1));
  garbage.done(garbage.next({5, 1}));
  garbage.deleted(blob(1));
  ASSERT_TRUE(garbage.wanted());
  const auto command = garbage.next({5, 4});
  EXPECT_EQ(command.do_not_keep, Ids{blob(1)});
  garbage.done(command);
  EXPECT_FALSE(garbage.wanted());
  EXPECT_TRUE(garbage.next({5, 9}).do_not_keep.empty());
}

TEST(ChannelGarbage, WhatIsPassedWhileABarrierIsPendingWaitsForTheNext) {
  ChannelGarbage garbage;
  garbage.passed({5, 3});
  const auto command = garbage.next({5, 3});
  garbage.passed({5, 9});
  garbage.done(command);
  EXPECT_TRUE(garbage.wanted());
  garbage.done(garbage.next({5, 9}));
  EXPECT_FALSE(garbage.wanted());
}

TEST(ChannelGarbage, AnAdoptedBlobHasItsFlagAlready) {
  ChannelGarbage garbage;
  garbage.adopted(blob(1, 4));
  EXPECT_TRUE(garbage.next({5, 0}).keep.empty());
  garbage.deleted(blob(1, 4));
  EXPECT_EQ(garbage.next({5, 0}).do_not_keep, Ids{blob(1, 4)});
}

TEST(ChannelGarbage, ABlobDeletedWhileItsKeepIsPendingLosesItAgain) {
  ChannelGarbage garbage;
  garbage.created(blob(1));
  const auto command = garbage.next({5, 1});
  ASSERT_EQ(command.keep, Ids{blob(1)});
  garbage.deleted(blob(1));
  garbage.done(command);
  EXPECT_TRUE(garbage.wanted());
  EXPECT_EQ(garbage.next({5, 1}).do_not_keep, Ids{blob(1)});
}

TEST(ChannelGarbage, ACommandThatFailedIsGivenAgain) {
  ChannelGarbage garbage;
  garbage.created(blob(1));
  garbage.created(blob(2));
  garbage.deleted(blob(2));
  const auto first = garbage.next({5, 2});
  const auto second = garbage.next({5, 2});
  EXPECT_EQ(first.keep, second.keep);
  EXPECT_TRUE(garbage.wanted());
}

TEST(ChannelGarbage, ABlobWhoseKeepMayHaveArrivedGetsItTakenBackWhenDeleted) {
  ChannelGarbage garbage;
  garbage.created(blob(1));
  garbage.created(blob(2));
  garbage.deleted(blob(2));
  (void)garbage.next({5, 2});  // No result: the disks may have the flag.
  garbage.deleted(blob(1));
  const auto command = garbage.next({5, 3});
  EXPECT_TRUE(command.keep.empty());
  EXPECT_EQ(command.do_not_keep, Ids{blob(1)});
  garbage.done(command);
  EXPECT_FALSE(garbage.wanted());
}

TEST(ChannelGarbage, TheBarrierFollowsTheLastPageOfKeepFlags) {
  ChannelGarbage garbage;
  garbage.adopted(blob(1, 4));
  for (Step step = 1; step <= 7; ++step) garbage.created(blob(step));
  garbage.deleted(blob(1, 4));
  std::vector<BlobId> kept;
  for (int page = 0; page < 2; ++page) {
    const auto command = garbage.next({5, 6}, 3);
    EXPECT_EQ(command.flags(), 3u);
    EXPECT_EQ(command.barrier.has_value(), page == 1) << "the flags of steps 4 to 6 are the last";
    kept.insert(kept.end(), command.keep.begin(), command.keep.end());
    garbage.done(command);
    EXPECT_TRUE(garbage.wanted());
  }
  EXPECT_EQ(kept, (Ids{blob(1), blob(2), blob(3), blob(4), blob(5), blob(6)}));
  const auto last = garbage.next({5, 6}, 3);
  EXPECT_TRUE(last.keep.empty());
  EXPECT_EQ(last.do_not_keep, Ids{blob(1, 4)});
  EXPECT_EQ(last.barrier, (GenStep{5, 6}));
  garbage.done(last);
  EXPECT_FALSE(garbage.wanted());
}

TEST(ChannelGarbage, DeletingTwiceOrSomethingUnknownChangesNothing) {
  ChannelGarbage garbage;
  garbage.adopted(blob(1, 4));
  garbage.deleted(blob(1, 4));
  garbage.deleted(blob(1, 4));
  garbage.deleted(blob(9, 9));
  EXPECT_EQ(garbage.next({5, 0}).do_not_keep, Ids{blob(1, 4)});
}

}  // namespace
}  // namespace moraine
