// One seed of the campaign of queries: random tables, and random queries whose answers are compared
// with SQLite's.
//
// Promise    As campaign.h. A failing query is made smaller; the failure has its text, its tables
//            and both answers.
// Tests      query_campaign_test.cpp.
#pragma once

#include "sim/campaign.h"

namespace moraine::sim {

inline constexpr std::uint64_t kQueriesPerSeed = 100;

SeedReport run_query_seed(const SeedOptions& options);

}  // namespace moraine::sim
