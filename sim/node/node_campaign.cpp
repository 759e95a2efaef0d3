#include "sim/node/node_campaign.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sim/node/http_clients.h"
#include "sim/node/kafka_clients.h"
#include "sim/node/machine_nemesis.h"
#include "sim/node/node_tables.h"
#include "sim/tables/service_access.h"
#include "sim/tables/table_clients.h"
#include "sim/tables/tables_campaign.h"

namespace moraine::sim {
namespace {

constexpr Duration kStep = 500ms;
constexpr Duration kFirstStart = 60s;
constexpr Duration kDrainBound = 60s;
constexpr Duration kSettleBound = 180s;
constexpr int kPeacefulTries = 40;

// What varies from seed to seed besides the order of events.
struct Plan {
  SimOptions world;
  MachineOptions machines;
  KafkaPlan kafka;
  HttpPlan http;
  TableOptions tables;
  MachineNemesisOptions nemesis;
};

NodeOptions some_node_options(const TableOptions& tables) {
  NodeOptions options;
  options.storage = quick_node_options();
  options.leader.timeout = 6s;
  options.leader.snapshot_log_bytes = 40'000;
  options.leader.collect_period = 700ms;
  options.topic_cache_bytes = 3u << 20;
  options.tables.block_cache_bytes = tables.block_cache_bytes;
  options.tables.row_cache_bytes = tables.row_cache_bytes;
  options.tables.timestamp_lease = 800ms;
  return options;
}

void plan_kafka(SeededRandom& random, KafkaPlan& kafka) {
  kafka.topics = 1 + random.below(2);
  kafka.partitions = 1 + random.below(3);
  kafka.partitions_max = kafka.partitions + random.below(2);
  kafka.producers = 1 + random.below(2);
  kafka.consumers = 2 + random.below(2);
  kafka.window_max = 1 + random.below(5);
  kafka.message_bytes_max = std::size_t{50} << random.below(8);
  kafka.think_max = 50ms + Duration(1ms) * random.below(300);
}

Plan plan_of(const SeedOptions& options) {
  SeededRandom random(stream_seed(options.seed, "plan"));
  Plan plan;
  plan.world.jitter_max = Duration(20us);
  plan.world.trace_contents = false;
  LinkFaults& links = plan.world.network;
  if (!random.one_in(3)) {
    links.loss.one_in = 200 + random.below(2'000);
    links.duplicate.one_in = 20 + random.below(500);
    links.delay.one_in = 20 + random.below(500);
    links.delay_max = 50ms + Duration(1ms) * random.below(600);
  }
  plan_tables(random, plan.tables);
  plan.tables.one_owner = true;
  plan.tables.workers = 2 + random.below(3);
  plan.tables.think_max += 50ms;
  plan.world.clock_skew_max = std::chrono::milliseconds(plan.tables.versions_stay ? 300 : 5'000);
  plan_kafka(random, plan.kafka);
  plan.http.think_max = 100ms + Duration(1ms) * random.below(400);
  plan.machines.erasure =
      options.erasure.value_or(options.seed % 4 == 0 ? Erasure::kNone : Erasure::kMirror3dc);
  plan.machines.lanes = 2 + random.below(2);
  plan.machines.node = some_node_options(plan.tables);
  plan.machines.claim.heartbeat = 300ms + Duration(1ms) * random.below(700);
  plan.machines.claim.silence =
      plan.machines.claim.heartbeat * 3 + Duration(1ms) * random.below(1'500);
  plan.nemesis.pause_between_max = 1s + Duration(1ms) * random.below(4'000);
  plan.nemesis.trouble_max = 1s + Duration(1ms) * random.below(6'000);
  plan.nemesis.blackouts = random.one_in(2);
  plan.nemesis.clock_jump_max = std::chrono::milliseconds(plan.tables.versions_stay ? 300 : 20'000);
  return plan;
}

// One run. The members are destroyed in the reverse order of their construction.
class Run {
 public:
  Run(const Plan& plan, const SeedOptions& options, SimWorld& world, History& history)
      : options_(options),
        world_(world),
        history_(history),
        model_(history, plan.tables.versions_stay),
        machines_(world, history, plan.machines),
        tables_(world, machines_, history, plan.tables),
        access_(world, tables_),
        transactions_(world, plan.tables, access_, model_, history),
        kafka_(world, machines_, history, plan.kafka),
        http_(world, machines_, history, plan.http),
        nemesis_(world, machines_, history, plan.nemesis) {}

  void run_all() {
    run_while(kFirstStart, [this] { return machines_.servers() == 0; });
    if (machines_.servers() == 0) history_.fail("no machine serves: " + machines_.unsettled());
    kafka_.start();
    http_.start();
    transactions_.start();
    nemesis_.start();
    run_while(options_.trouble, [] { return true; });
    nemesis_.heal();
    tables_.calm();
    run_while(kStep * 4, [] { return true; });
    kafka_.stop();
    http_.stop();
    transactions_.stop();
    const auto busy = [this] {
      return kafka_.running() + http_.running() + transactions_.running() > 0;
    };
    run_to_the_end(kDrainBound, busy);
    if (busy()) history_.fail("calls were never answered");
    if (!history_.failed()) check_final_state();
    transactions_.finish();
    tables_.stop();
    run_to_the_end(kDrainBound,
                   [this] { return tables_.booting() + transactions_.resolving() > 0; });
    world_.shutdown();
    if (!history_.failed()) model_.judge();
    if (!history_.failed()) http_.judge();
    history_.tally.rows_checked = model_.reads_checked();
  }

 private:
  void run_while(Duration time, const std::function<bool()>& keep_running) {
    const Instant end = world_.executor().now() + time;
    while (world_.executor().now() < end && !history_.failed() && keep_running())
      world_.run_for(kStep);
  }
  // Also after a failure: coroutines must finish.
  void run_to_the_end(Duration time, const std::function<bool()>& keep_running) {
    const Instant end = world_.executor().now() + time;
    while (world_.executor().now() < end && keep_running()) world_.run_for(kStep);
  }

  void check_final_state() {
    run_while(kSettleBound, [this] { return !machines_.unsettled().empty(); });
    const std::string disks = machines_.unsettled();
    if (!disks.empty()) return history_.fail("after all faults: " + disks);
    // The first pass finds everything; so must the second, elsewhere and with nothing in memory.
    for (int pass = 0; pass < 2 && !history_.failed(); ++pass) {
      run_while(kDrainBound, [this] { return !unsettled().empty(); });
      const std::string unsettled_parts = unsettled();
      if (!unsettled_parts.empty()) {
        return history_.fail("after all faults: " + unsettled_parts);
      }
      for (std::size_t lane = 0; lane < machines_.lanes(); ++lane) check_lane(lane);
      if (pass == 0) try_until("locks cannot be checked", &TableClients::check_locks);
      try_until("not all rows can be read", &TableClients::read_everything);
      if (pass > 0) break;
      try_until("not all versions can be read", &TableClients::show_versions);
      tables_.move_all();
      world_.run_for(kStep);
    }
  }
  std::string unsettled() const {
    if (machines_.servers() != 1) return fmt::format("{} machines serve", machines_.servers());
    return tables_.unsettled();
  }
  void check_lane(std::size_t lane) {
    for (int i = 0; i < kPeacefulTries && !history_.failed(); ++i) {
      if (world_.run(kafka_.check(lane)) && world_.run(http_.check(lane))) return;
      world_.run_for(kStep);
    }
    history_.fail(
        fmt::format("after all faults: not everything can be read through lane {}", lane));
  }
  void try_until(std::string_view otherwise, Task<bool> (TableClients::*what)()) {
    for (int i = 0; i < kPeacefulTries && !history_.failed(); ++i) {
      if (world_.run((transactions_.*what)())) return;
      world_.run_for(kStep);
    }
    history_.fail(fmt::format("after all faults: {}", otherwise));
  }

  const SeedOptions& options_;
  SimWorld& world_;
  History& history_;
  TableModel model_;
  Machines machines_;
  NodeTables tables_;
  ServiceAccess access_;
  TableClients transactions_;
  KafkaClients kafka_;
  HttpClients http_;
  MachineNemesis nemesis_;
};

}  // namespace

SeedOptions node_options(std::uint64_t seed) {
  SeedOptions options;
  options.seed = seed;
  options.trouble = 25s;
  return options;
}

SeedReport run_node_seed(const SeedOptions& options) {
  std::optional<ScopedLogCapture> silence;
  if (!options.verbose) silence.emplace(0);
  const Plan plan = plan_of(options);
  SimWorld world(options.seed, plan.world);
  History history(world, options.verbose);
  Run(plan, options, world, history).run_all();
  return report_of(plan.machines.erasure, world, history);
}

}  // namespace moraine::sim
