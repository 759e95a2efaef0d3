#include "sim/moves.h"

#include <gtest/gtest.h>

namespace moraine::sim {
namespace {

class Moves : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Moves, GiveClientsNoErrorOnSlowDisks) {
  SeedOptions options;
  options.seed = GetParam();
  options.trouble = 30s;
  const SeedReport report = run_moves_seed(options);
  EXPECT_FALSE(report.failure) << to_string(report.erasure) << " " << *report.failure;
}

INSTANTIATE_TEST_SUITE_P(Seed, Moves, testing::Range<std::uint64_t>(1, 10));

}  // namespace
}  // namespace moraine::sim
