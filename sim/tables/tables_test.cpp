// Seeds of the tables campaign as tests; `moraine_sim --scenario tables` runs more of them.
#include <gtest/gtest.h>

#include "sim/bug_hunt.h"
#include "sim/tables/tables_campaign.h"
#include "sim/test_seeds.h"

namespace moraine::sim {
namespace {

constexpr std::uint64_t kSeedsPerShard = seeds_of_test(10);

class TablesCampaign : public testing::TestWithParam<std::uint64_t> {};

TEST_P(TablesCampaign, KeepsEveryPromiseUnderFaults) {
  for (std::uint64_t i = 0; i < kSeedsPerShard; ++i) {
    const SeedReport report = run_tables_seed(tables_options(1 + GetParam() * kSeedsPerShard + i));
    EXPECT_FALSE(report.failure) << to_string(report.erasure) << " " << *report.failure;
    EXPECT_GT(report.tally.rows_checked, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, TablesCampaign, testing::Range<std::uint64_t>(0, 6));

TEST(TablesDeterminism, TheSameSeedGivesTheSameTraceHash) {
  SeedOptions options = tables_options(77);
  options.trouble = 10s;
  const SeedReport first = run_tables_seed(options);
  const SeedReport second = run_tables_seed(options);
  EXPECT_FALSE(first.failure) << *first.failure;
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  options.seed = 78;
  EXPECT_NE(run_tables_seed(options).trace_hash, first.trace_hash);
}

class TablesBugHunt : public testing::TestWithParam<table::SeededBug> {};

TEST_P(TablesBugHunt, FindsTheSeededBug) {
  const Hunt hunt = hunt_bug(GetParam());
  EXPECT_TRUE(hunt.found) << hunt.to_string();
}

INSTANTIATE_TEST_SUITE_P(Bug, TablesBugHunt,
                         testing::ValuesIn(table::all_seeded_bugs().begin(),
                                           table::all_seeded_bugs().end()));

}  // namespace
}  // namespace moraine::sim
