#include "blob/vdisk/forget_rule.h"

#include <gtest/gtest.h>

namespace moraine::blob {
namespace {

constexpr DiskSet kNeighbours = 0b110;  // Of disk 0.

TEST(ForgetRule, MarksGoOnceAllHaveThemAndAllWerePulledSince) {
  ForgetRule rule;
  const std::uint64_t before = rule.round();
  rule.acknowledged(1, 10, kNeighbours);
  EXPECT_EQ(rule.round(), before) << "disk 2 has nothing yet";
  rule.acknowledged(2, 7, kNeighbours);
  const std::uint64_t round = rule.round();
  ASSERT_NE(round, before);
  EXPECT_EQ(rule.pulled(1, round), 0u);
  EXPECT_EQ(rule.pulled(1, round), 0u) << "the same neighbour again";
  EXPECT_EQ(rule.pulled(2, round), 7u);
  EXPECT_EQ(rule.pulled(2, round), 0u) << "the round is over";
}

TEST(ForgetRule, APullThatBeganBeforeAllHadTheMarkProvesNothing) {
  ForgetRule rule;
  const std::uint64_t early = rule.round();
  rule.acknowledged(1, 10, kNeighbours);
  rule.acknowledged(2, 10, kNeighbours);
  EXPECT_EQ(rule.pulled(1, early), 0u);
  EXPECT_EQ(rule.pulled(2, rule.round()), 0u) << "disk 1 was pulled too early";
  EXPECT_EQ(rule.pulled(1, rule.round()), 10u);
}

// A rule with a round under way: disks 1 and 2 have the log up to 10.
ForgetRule with_round() {
  ForgetRule rule;
  rule.acknowledged(1, 10, kNeighbours);
  rule.acknowledged(2, 10, kNeighbours);
  return rule;
}

TEST(ForgetRule, ANeighbourThatFallsBackEndsTheRound) {
  ForgetRule rule = with_round();
  const std::uint64_t round = rule.round();
  EXPECT_EQ(rule.pulled(1, round), 0u);
  rule.acknowledged(2, 0, kNeighbours);
  EXPECT_EQ(rule.pulled(2, round), 0u);
  rule.acknowledged(2, 12, kNeighbours);
  EXPECT_NE(rule.round(), round);
  EXPECT_EQ(rule.pulled(2, rule.round()), 0u);
  EXPECT_EQ(rule.pulled(1, rule.round()), 10u);
}

TEST(ForgetRule, AFallBackThatIsStillNewsBeginsAnotherRound) {
  ForgetRule rule = with_round();
  const std::uint64_t round = rule.round();
  rule.acknowledged(2, 6, kNeighbours);
  EXPECT_EQ(rule.round(), round + 1);
  EXPECT_EQ(rule.pulled(1, round), 0u) << "of the round before";
  EXPECT_EQ(rule.pulled(1, round + 1), 0u);
  EXPECT_EQ(rule.pulled(2, round + 1), 6u);
}

TEST(ForgetRule, RoundsFollowEachOtherOnlyWhenThereIsMoreToForget) {
  ForgetRule rule;
  rule.acknowledged(1, 10, 0b10);
  const std::uint64_t first = rule.round();
  EXPECT_EQ(rule.pulled(1, first), 10u);
  rule.acknowledged(1, 10, 0b10);
  EXPECT_EQ(rule.round(), first);
  rule.acknowledged(1, 15, 0b10);
  rule.acknowledged(1, 20, 0b10);
  EXPECT_EQ(rule.round(), first + 1);
  EXPECT_EQ(rule.pulled(1, first + 1), 15u) << "as all had it when the round began";
}

}  // namespace
}  // namespace moraine::blob
