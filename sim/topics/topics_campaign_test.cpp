// Seeds of the topics campaign as tests; `moraine_sim --scenario topics` runs more of them.
#include "sim/topics/topics_campaign.h"

#include <gtest/gtest.h>

#include "sim/bug_hunt.h"
#include "sim/test_seeds.h"

namespace moraine::sim {
namespace {

constexpr std::uint64_t kSeedsPerShard = seeds_of_test(25);

class TopicsCampaign : public testing::TestWithParam<std::uint64_t> {};

TEST_P(TopicsCampaign, KeepsEveryPromiseUnderFaults) {
  for (std::uint64_t i = 0; i < kSeedsPerShard; ++i) {
    const SeedReport report = run_topics_seed(topics_options(1 + GetParam() * kSeedsPerShard + i));
    EXPECT_FALSE(report.failure) << to_string(report.erasure) << " " << *report.failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, TopicsCampaign, testing::Range<std::uint64_t>(0, 4));

TEST(TopicsDeterminism, TheSameSeedGivesTheSameTraceHash) {
  SeedOptions options = topics_options(77);
  options.trouble = 15s;
  const SeedReport first = run_topics_seed(options);
  const SeedReport second = run_topics_seed(options);
  EXPECT_FALSE(first.failure) << *first.failure;
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  options.seed = 78;
  EXPECT_NE(run_topics_seed(options).trace_hash, first.trace_hash);
}

class TopicsBugHunt : public testing::TestWithParam<int> {};

TEST_P(TopicsBugHunt, FindsTheSeededBug) {
  const Hunt hunt = hunt_bug(static_cast<queue::SeededBug>(GetParam()));
  EXPECT_TRUE(hunt.found) << hunt.to_string();
}

INSTANTIATE_TEST_SUITE_P(Bug, TopicsBugHunt, testing::Range(1, queue::kSeededBugs));

}  // namespace
}  // namespace moraine::sim
