// Seeds of the campaign as tests; `moraine_sim` runs more of them.
#include "sim/campaign.h"

#include <gtest/gtest.h>

#include "sim/test_seeds.h"

namespace moraine::sim {
namespace {

constexpr std::uint64_t kSeedsPerShard = seeds_of_test(50);

class Campaign : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Campaign, KeepsEveryPromiseUnderFaults) {
  for (std::uint64_t i = 0; i < kSeedsPerShard; ++i) {
    SeedOptions options;
    options.seed = 1 + GetParam() * kSeedsPerShard + i;
    const SeedReport report = run_seed(options);
    EXPECT_FALSE(report.failure) << to_string(report.erasure) << " " << *report.failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, Campaign, testing::Range<std::uint64_t>(0, 4));

class Determinism : public testing::TestWithParam<int> {};

TEST_P(Determinism, TheSameSeedGivesTheSameTraceHash) {
  SeedOptions options;
  options.seed = 77;
  options.erasure = static_cast<Erasure>(GetParam());
  options.trouble = 20s;
  const SeedReport first = run_seed(options);
  const SeedReport second = run_seed(options);
  EXPECT_FALSE(first.failure) << *first.failure;
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  options.seed = 78;
  EXPECT_NE(run_seed(options).trace_hash, first.trace_hash);
}

INSTANTIATE_TEST_SUITE_P(Erasure, Determinism, testing::Range(0, static_cast<int>(kErasures)));

}  // namespace
}  // namespace moraine::sim
