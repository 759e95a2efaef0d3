#include "crash/truth.h"

#include <gtest/gtest.h>

namespace moraine::crash {
namespace {

using blob::Status;

class Truth : public testing::Test {
 protected:
  blob::BlobId put(Status status = Status::kOk) {
    const blob::BlobId id = tablet.begin_put(10, 1);
    tablet.put_ended(id, status);
    return id;
  }
  Fate fate(const blob::BlobId& id) const { return tablet.blobs().at(id).fate; }

  TabletTruth tablet{blob::TabletId{7}};
  SeededRandom random{1};
};

TEST_F(Truth, OnlyAnAcknowledgedBlobMustBeThere) {
  EXPECT_EQ(fate(put()), Fate::kStored);
  EXPECT_EQ(fate(put(Status::kError)), Fate::kDoubt);
  EXPECT_EQ(fate(put(Status::kDeadline)), Fate::kDoubt);
  EXPECT_EQ(fate(put(Status::kBlocked)), Fate::kDoubt);
}

TEST_F(Truth, ADoubtEndsWithARead) {
  const blob::BlobId there = put(Status::kError);
  const blob::BlobId absent = put(Status::kError);
  tablet.found(there);
  tablet.absent(absent);
  EXPECT_EQ(fate(there), Fate::kStored);
  EXPECT_FALSE(tablet.blobs().contains(absent));
}

TEST_F(Truth, ACollectWithoutAnAnswerIsSentAgain) {
  for (int i = 0; i < 40; ++i) put();
  const auto first = tablet.begin_collect(random);
  ASSERT_TRUE(first);
  EXPECT_FALSE(tablet.begin_collect(random)) << "one is in flight";
  tablet.collect_ended({Status::kDeadline, "", 0});
  EXPECT_TRUE(tablet.gone().empty());
  const auto again = tablet.begin_collect(random);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->counter, first->counter);
  EXPECT_EQ(again->keep, first->keep);
  tablet.collect_ended({Status::kOk, "", 1});
  EXPECT_EQ(tablet.gone().size() + first->keep.size(), 20u);
  for (const blob::BlobId& id : first->keep) EXPECT_EQ(fate(id), Fate::kStored);
}

TEST_F(Truth, ABarrierStaysBelowWhatIsInFlight) {
  const blob::BlobId stored = put();
  const blob::BlobId flying = tablet.begin_put(10, 1);
  for (int i = 0; i < 40; ++i) put();
  const auto collect = tablet.begin_collect(random);
  ASSERT_TRUE(collect);
  EXPECT_EQ(*collect->barrier, stored.gen_step());
  EXPECT_LT(*collect->barrier, flying.gen_step());
}

TEST_F(Truth, ABlockFencesTheGenerationOfItsPuts) {
  const blob::BlobId before = put();
  const auto blocked = tablet.begin_block();
  ASSERT_TRUE(blocked);
  tablet.block_ended(Status::kDeadline);
  EXPECT_EQ(tablet.fenced(), 0u) << "unknown";
  EXPECT_TRUE(tablet.block_unfinished());
  ASSERT_EQ(tablet.begin_block(), blocked);
  tablet.block_ended(Status::kAlready);
  EXPECT_EQ(tablet.fenced(), before.generation());
  EXPECT_GT(put().generation(), tablet.fenced());
  EXPECT_EQ(tablet.fenced_id(1).generation(), tablet.fenced());
}

TEST(BytesOf, FollowFromTheId) {
  const blob::BlobId a(blob::TabletId{1}, 1, 1, 0, 1000, 0);
  const blob::BlobId b(blob::TabletId{1}, 1, 2, 0, 1000, 0);
  EXPECT_TRUE(equal(bytes_of(a), bytes_of(a)));
  EXPECT_FALSE(equal(bytes_of(a), bytes_of(b)));
}

}  // namespace
}  // namespace moraine::crash
