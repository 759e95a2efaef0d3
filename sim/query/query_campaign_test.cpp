#include "sim/query/query_campaign.h"

#include <gtest/gtest.h>

#include "sim/bug_hunt.h"

namespace moraine::sim {
namespace {

TEST(QueryCampaign, AnswersAreThoseOfSqlite) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SeedOptions options;
    options.seed = seed;
    const SeedReport report = run_query_seed(options);
    ASSERT_FALSE(report.failure) << *report.failure;
    tally += report.tally;
  }
  EXPECT_GE(tally.queries, 5000u);
  for (std::size_t i = 0; i < kFeatures; ++i) {
    EXPECT_GT(tally.query_features.queries[i], 0u) << to_string(Feature(i));
  }
}

TEST(QueryCampaign, FindsEverySeededBug) {
  for (const query::SeededBug bug : query::all_seeded_bugs()) {
    const Hunt hunt = hunt_bug(bug);
    EXPECT_TRUE(hunt.found) << hunt.to_string();
  }
}

}  // namespace
}  // namespace moraine::sim
