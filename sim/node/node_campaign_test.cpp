// Seeds of the node campaign as tests; `moraine_sim --scenario node` runs more of them.
#include "sim/node/node_campaign.h"

#include <gtest/gtest.h>

#include "sim/bug_hunt.h"
#include "sim/test_seeds.h"

namespace moraine::sim {
namespace {

constexpr std::uint64_t kSeedsPerShard = seeds_of_test(10);

class NodeCampaign : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NodeCampaign, KeepsEveryPromiseUnderFaults) {
  for (std::uint64_t i = 0; i < kSeedsPerShard; ++i) {
    const SeedReport report = run_node_seed(node_options(1 + GetParam() * kSeedsPerShard + i));
    EXPECT_FALSE(report.failure) << to_string(report.erasure) << " " << *report.failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, NodeCampaign, testing::Range<std::uint64_t>(0, 4));

TEST(NodeDeterminism, TheSameSeedGivesTheSameTraceHash) {
  const SeedReport first = run_node_seed(node_options(77));
  const SeedReport second = run_node_seed(node_options(77));
  EXPECT_FALSE(first.failure) << *first.failure;
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_NE(run_node_seed(node_options(78)).trace_hash, first.trace_hash);
}

class NodeBugHunt : public testing::TestWithParam<int> {};

TEST_P(NodeBugHunt, FindsTheSeededBug) {
  const Hunt hunt = hunt_bug(static_cast<NodeBug>(GetParam()));
  EXPECT_TRUE(hunt.found) << hunt.to_string();
}

INSTANTIATE_TEST_SUITE_P(Bug, NodeBugHunt, testing::Range(1, kNodeBugs));

class TreeBugHunt : public testing::TestWithParam<TreeBug> {};

TEST_P(TreeBugHunt, FindsTheSeededBug) {
  const Hunt hunt = hunt_bug(GetParam());
  EXPECT_TRUE(hunt.found) << hunt.to_string();
}

INSTANTIATE_TEST_SUITE_P(Bug, TreeBugHunt,
                         testing::ValuesIn(all_tree_bugs().begin(), all_tree_bugs().end()));

}  // namespace
}  // namespace moraine::sim
