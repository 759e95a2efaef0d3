#include "blob/vdisk/barriers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace moraine::blob {
namespace {

constexpr TabletId kTablet{7};
constexpr Channel kChannel = 1;

BarrierFact soft(Generation generation, std::uint32_t counter, GenStep barrier, DiskSet seen) {
  BarrierFact fact;
  fact.tablet = kTablet;
  fact.channel = kChannel;
  fact.record_generation = generation;
  fact.counter = counter;
  fact.barrier = barrier;
  fact.seen = seen;
  return fact;
}

BarrierFact hard(Generation generation, std::uint32_t counter, GenStep barrier, DiskSet seen) {
  BarrierFact fact = soft(generation, counter, barrier, seen);
  fact.hard = true;
  return fact;
}

BlobId blob(Generation generation, Step step) {
  return BlobId(kTablet, generation, step, kChannel, 100, 0);
}

const Geometry kOne = Geometry::standard(Species::kNone);
const Geometry kEight = Geometry::standard(Species::kBlock42);

TEST(Barriers, TheKeepRuleHoldsInEveryCombination) {
  for (const bool under_soft : {false, true}) {
    for (const bool under_hard : {false, true}) {
      for (std::uint32_t flags = 0; flags < 4; ++flags) {
        Barriers barriers;
        if (under_soft) barriers.merge(soft(1, 1, {5, 5}, 1), kOne);
        if (under_hard) barriers.merge(hard(1, 1, {5, 5}, 1), kOne);
        const bool keep = (flags & kKeepBit) != 0;
        const bool do_not_keep = (flags & kDoNotKeepBit) != 0;
        const bool expected = !under_hard && (!under_soft || (keep && !do_not_keep));
        EXPECT_EQ(barriers.keeps(blob(5, 5), {flags}), expected)
            << under_soft << under_hard << flags;
        EXPECT_TRUE(barriers.keeps(blob(5, 6), {flags})) << "above both";
      }
    }
  }
}

TEST(Barriers, ASoftBarrierWaitsForAGroupQuorumOfDisks) {
  Barriers barriers;
  EXPECT_FALSE(barriers.merge(soft(1, 1, {5, 5}, 0b00011111), kEight));
  EXPECT_TRUE(barriers.keeps(blob(1, 1), {}));
  const auto moved = barriers.merge(soft(1, 1, {5, 5}, 0b00100000), kEight);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->to, (GenStep{5, 5}));
  EXPECT_FALSE(barriers.keeps(blob(1, 1), {}));
}

TEST(Barriers, AHardBarrierHoldsAtOnce) {
  Barriers barriers;
  EXPECT_TRUE(barriers.merge(hard(1, 1, {5, 5}, 1), kEight));
  EXPECT_FALSE(barriers.keeps(blob(1, 1), {kKeepBit}));
}

TEST(Barriers, ALaterRecordActsEvenWhenAnEarlierOneNeverGotItsQuorum) {
  Barriers barriers;
  barriers.merge(soft(1, 1, {5, 0}, 1), kEight);
  EXPECT_TRUE(barriers.merge(soft(1, 2, {6, 0}, 0xff), kEight));
  EXPECT_FALSE(barriers.keeps(blob(6, 0), {}));
  EXPECT_FALSE(barriers.merge(soft(1, 1, {5, 0}, 0xff), kEight)) << "history changes nothing";
  EXPECT_FALSE(barriers.news(soft(1, 1, {5, 0}, 0xff), 0));
}

TEST(Barriers, MergingInAnyOrderEndsTheSame) {
  std::vector<BarrierFact> facts{soft(1, 1, {2, 0}, 0x0f), soft(1, 1, {2, 0}, 0xf0),
                                 soft(1, 2, {3, 0}, 0x07), soft(2, 1, {3, 5}, 0x3f),
                                 soft(2, 2, {4, 0}, 0x01)};
  const auto by_seen = [](const BarrierFact& a, const BarrierFact& b) { return a.seen < b.seen; };
  std::sort(facts.begin(), facts.end(), by_seen);
  do {
    Barriers barriers;
    for (const BarrierFact& fact : facts) barriers.merge(fact, kEight);
    EXPECT_EQ(barriers.soft(kTablet, kChannel), (GenStep{3, 5}));
    const auto& records = barriers.all().begin()->second.records;
    EXPECT_EQ(records.size(), 2u) << "the one in force and the one after it";
  } while (std::next_permutation(facts.begin(), facts.end(), by_seen));
}

TEST(Barriers, CommandsAreValidatedInOrder) {
  Barriers barriers;
  barriers.merge(soft(3, 5, {2, 7}, 0b1), kEight);
  const auto status = [&](const BarrierFact& fact, std::uint32_t order = 0) {
    return barriers.check(fact, order).status;
  };
  EXPECT_EQ(status(soft(3, 5, {2, 7}, 1)), Status::kAlready);
  EXPECT_EQ(status(soft(3, 5, {2, 7}, 1), 4), Status::kOk) << "known only from others";
  EXPECT_EQ(status(soft(3, 5, {2, 8}, 1)), Status::kError) << "same record, other barrier";
  EXPECT_EQ(status(soft(3, 4, {2, 7}, 1)), Status::kError) << "out of order";
  EXPECT_EQ(status(soft(3, 6, {2, 6}, 1)), Status::kError) << "barrier going back";
  EXPECT_EQ(status(soft(3, 6, {2, 7}, 1)), Status::kOk) << "an equal barrier is fine";
  EXPECT_EQ(status(hard(1, 1, {1, 1}, 1)), Status::kOk) << "hard is a sequence of its own";
  EXPECT_EQ(status(soft(3, 6, GenStep::max(), 1)), Status::kError);
  EXPECT_EQ(status(soft(kGenerationMax, ~0u, GenStep::max(), 1)), Status::kOk);
}

TEST(Barriers, RecordsThatWaitAreBounded) {
  Barriers barriers;
  for (std::uint32_t i = 1; i <= 10 * kPendingBarriersMax; ++i) {
    barriers.merge(soft(1, i, {1, i}, 1), kEight);
  }
  EXPECT_LE(barriers.all().begin()->second.records.size(), kPendingBarriersMax);
  EXPECT_TRUE(barriers.merge(soft(1, 10 * kPendingBarriersMax, {1, 10 * kPendingBarriersMax}, 0xff),
                             kEight));
}

}  // namespace
}  // namespace moraine::blob
