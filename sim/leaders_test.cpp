// Seeds of the leaders scenario (P18: the outcome of the log's tail is final; P19: one leader).
#include "sim/leaders.h"

#include <gtest/gtest.h>

#include "sim/test_seeds.h"

namespace moraine::sim {
namespace {

constexpr std::uint64_t kSeedsPerShard = seeds_of_test(25);

class Leaders : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Leaders, EveryAcknowledgedCommitIsThereOnceAndInOneOrder) {
  std::uint64_t boots = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t refused = 0;
  std::uint64_t snapshots = 0;
  for (std::uint64_t i = 0; i < kSeedsPerShard; ++i) {
    const LeadersReport report = run_leaders(1 + GetParam() * kSeedsPerShard + i);
    EXPECT_FALSE(report.failure) << *report.failure;
    boots += report.boots;
    acknowledged += report.acknowledged;
    refused += report.refused;
    snapshots += report.snapshots;
  }
  // The scenario must not be trivial.
  EXPECT_GT(boots, 10 * kSeedsPerShard);
  EXPECT_GT(refused, kSeedsPerShard);
  EXPECT_GT(acknowledged, 100 * kSeedsPerShard);
  EXPECT_GT(snapshots, kSeedsPerShard);
}

INSTANTIATE_TEST_SUITE_P(Shard, Leaders, testing::Range<std::uint64_t>(0, 4));

TEST(LeadersRun, TheSameSeedGivesTheSameTraceHash) {
  EXPECT_EQ(run_leaders(7).trace_hash, run_leaders(7).trace_hash);
  EXPECT_NE(run_leaders(7).trace_hash, run_leaders(8).trace_hash);
}

}  // namespace
}  // namespace moraine::sim
