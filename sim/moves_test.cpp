#include "sim/moves.h"

#include <gtest/gtest.h>

#include "sim/model.h"
#include "sim/workload.h"

namespace moraine::sim {
namespace {

class Moves : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Moves, CauseNoClientErrorsOnSlowDisks) {
  SeedOptions options;
  options.seed = GetParam();
  options.trouble = 30s;
  const SeedReport report = run_moves_seed(options);
  EXPECT_FALSE(report.failure) << to_string(report.erasure) << " " << *report.failure;
}

// Puts do not wait for the slow disk, so it keeps missing parts.
TEST(Replication, OfAReplacedDiskEndsUnderALoadThatItIsTooSlowFor) {
  SimWorld world(3);
  History history(world, false);
  Model model(history);
  ClusterOptions chosen;
  chosen.erasure = Erasure::kBlock42;
  chosen.segments = 64;
  chosen.node = quick_node_options();
  Cluster cluster(world, chosen);
  ASSERT_TRUE(cluster.settle(1min)) << cluster.unsettled();
  WorkloadOptions load;
  load.drivers = 8;
  load.think_max = 10ms;
  load.blob_size_max = 10'000;
  Workload workload(world, cluster, model, history, load);
  for (std::size_t client = 0; client < cluster.clients(); ++client) workload.attach(client);
  world.run_for(2s);
  const std::size_t slow = cluster.host_of(1);
  cluster.crash(slow);
  cluster.replace_disk(slow);
  cluster.start(slow);
  cluster.drive(slow).faults().slow_factor = 400;
  int incomplete = 0;
  while (incomplete < 300 && !cluster.replicated(1)) {
    world.run_for(100ms);
    ++incomplete;
  }
  EXPECT_LT(incomplete, 300) << cluster.unsettled();
  EXPECT_FALSE(cluster.vdisk(1)->state().missing().empty());
  workload.stop();
  world.shutdown();
}

INSTANTIATE_TEST_SUITE_P(Seed, Moves, testing::Range<std::uint64_t>(1, 10));

}  // namespace
}  // namespace moraine::sim
