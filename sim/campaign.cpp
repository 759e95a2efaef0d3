#include "sim/campaign.h"

#include "base/log.h"
#include "sim/final_checks.h"
#include "sim/model.h"
#include "sim/nemesis.h"
#include "sim/workload.h"

namespace moraine::sim {
namespace {

constexpr Duration kFirstStart = 30s;
constexpr Duration kStep = 500ms;
constexpr Duration kDrainBound = 20s;

// What varies from seed to seed besides the order of events.
struct Plan {
  SimOptions world;
  ClusterOptions cluster;
  WorkloadOptions workload;
  NemesisOptions nemesis;
};

Plan plan_of(const SeedOptions& options) {
  SeededRandom random(stream_seed(options.seed, "plan"));
  Plan plan;
  plan.world.jitter_max = random.one_in(2) ? Duration(20us) : Duration(0);
  plan.world.clock_skew_max = std::chrono::milliseconds(5'000);
  LinkFaults& links = plan.world.network;
  if (!random.one_in(4)) {
    links.loss.one_in = 100 + random.below(2'000);
    links.duplicate.one_in = 20 + random.below(500);
    links.delay.one_in = 20 + random.below(500);
    links.delay_max = 50ms + Duration(1ms) * random.below(1'000);
  }
  plan.cluster.erasure = options.erasure.value_or(static_cast<Erasure>(options.seed % kErasures));
  // Small devices fill up. Parts are then small relative to segments, so that cleaning can pack
  // them.
  const bool small = random.one_in(4);
  plan.cluster.segments = small ? 18 : 48;
  if (small) plan.workload.blob_size_max = 40'000;
  plan.cluster.node = quick_node_options();
  plan.cluster.node.device.checkpoint_log_bytes = (128u << 10) << random.below(4);
  if (random.one_in(3)) plan.cluster.node.vdisk.cache_bytes = 0;
  plan.workload.tablets = 1 + random.below(4);
  plan.workload.think_max = 50ms + Duration(1ms) * random.below(400);
  if (plan.cluster.erasure == Erasure::kBlock42 && !small && random.one_in(2)) {
    plan.workload.blob_size_max = 900'000;
  }
  plan.nemesis.pause_between_max = 500ms + Duration(1ms) * random.below(4'000);
  plan.nemesis.trouble_max = 1s + Duration(1ms) * random.below(8'000);
  plan.nemesis.blackouts = random.one_in(2);
  return plan;
}

void run_while(SimWorld& world, const History& history, Duration time,
               const std::function<bool()>& keep_running) {
  const Instant end = world.executor().now() + time;
  while (world.executor().now() < end && !history.failed() && keep_running()) world.run_for(kStep);
}

void run_plan(const Plan& plan, const SeedOptions& options, SimWorld& world, History& history) {
  Model model(history);
  Cluster cluster(world, plan.cluster);
  Workload workload(world, cluster, model, history, plan.workload);
  Nemesis::Hooks hooks;
  hooks.client_started = [&](std::size_t client) { workload.attach(client); };
  hooks.client_paused = [&](std::size_t client, Duration pause) {
    workload.note_pause(client, pause);
  };
  Nemesis nemesis(world, cluster, history, plan.nemesis, std::move(hooks));

  workload.judge_errors(
      [&](std::size_t client, Instant since) { return nemesis.troubled(client, since); });

  run_while(world, history, kFirstStart, [&] { return !cluster.all_ready(); });
  if (!cluster.all_ready()) history.fail("the group did not start: " + cluster.unsettled());
  for (std::size_t client = 0; client < cluster.clients(); ++client) workload.attach(client);
  nemesis.start();
  run_while(world, history, options.trouble, [] { return true; });
  workload.stop();
  nemesis.heal();
  run_while(world, history, kDrainBound, [&] { return workload.in_flight() > 0; });
  if (workload.in_flight() > 0 && !history.failed()) {
    history.fail("commands were never answered");
  }
  if (!history.failed()) FinalChecks(world, cluster, model, history).check();
  world.shutdown();
}

}  // namespace

SeedReport report_of(Erasure erasure, SimWorld& world, const History& history) {
  SeedReport report;
  report.erasure = erasure;
  report.failure = history.failure();
  report.trace_hash = world.trace_hash();
  report.tally = history.tally;
  report.tally.faults = world.faults();
  report.tally.runs = 1;
  report.tally.virtual_ns = static_cast<std::uint64_t>(world.executor().now().since_start.count());
  return report;
}

SeedReport run_seed(const SeedOptions& options) {
  std::optional<ScopedLogCapture> silence;
  if (!options.verbose) silence.emplace(0);
  const Plan plan = plan_of(options);
  SimWorld world(options.seed, plan.world);
  History history(world, options.verbose);
  run_plan(plan, options, world, history);
  return report_of(plan.cluster.erasure, world, history);
}

}  // namespace moraine::sim
