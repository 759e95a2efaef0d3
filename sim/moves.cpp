#include "sim/moves.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sim/final_checks.h"
#include "sim/workload.h"

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr Duration kStep = 20ms;
constexpr Duration kStartBound = 60s;
constexpr Duration kMoveBound = 120s;
constexpr Duration kDrainBound = 20s;
constexpr std::uint64_t kSlowMax = 400;  // Slow-down factor: about 0.1 s per write.
constexpr Erasure kMoving[] = {Erasure::kBlock42, Erasure::kBlock42Spare, Erasure::kMirror3dc};

class MovesRun {
 public:
  MovesRun(const SeedOptions& options, SimWorld& world, History& history, Erasure erasure)
      : options_(options),
        world_(world),
        history_(history),
        random_(world.stream("moves")),
        model_(history),
        cluster_(world, cluster_options(erasure)),
        workload_(world, cluster_, model_, history, workload_options()) {}

  void run();

 private:
  static ClusterOptions cluster_options(Erasure erasure) {
    ClusterOptions chosen;
    chosen.erasure = erasure;
    chosen.segments = 64;
    chosen.node = quick_node_options();
    return chosen;
  }
  static WorkloadOptions workload_options() {
    WorkloadOptions chosen;
    chosen.drivers = 8;
    chosen.think_max = 10ms;
    chosen.blob_size_max = 10'000;
    return chosen;
  }
  struct Move {
    std::uint32_t order;
    Instant from;
    Instant until = Instant::never();
  };
  template <class Condition>
  bool run_until(Duration bound, Condition reached) {
    const Instant end = history_.now() + bound;
    while (history_.now() < end && !history_.failed() && !reached()) world_.run_for(kStep);
    return reached();
  }
  DiskSet moving(Instant since) const {
    DiskSet set = 0;
    for (const Move& move : moves_) {
      if (move.until >= since) set |= disk_bit(move.order);
    }
    return set;
  }
  void move_one();

  const SeedOptions& options_;
  SimWorld& world_;
  History& history_;
  SeededRandom random_;
  Model model_;
  Cluster cluster_;
  Workload workload_;
  std::vector<Move> moves_;
};

// Some hosts are informed, the others find out.
void MovesRun::move_one() {
  const auto order = static_cast<std::uint32_t>(random_.below(cluster_.geometry().disks()));
  std::vector<std::size_t> informed;
  const std::uint64_t share = 1 + random_.below(8);
  for (std::size_t host = 0; host < cluster_.hosts(); ++host) {
    if (random_.one_in(share)) informed.push_back(host);
  }
  history_.tally.add(Trouble::kMove);
  if (history_.verbose())
    history_.say(fmt::format("disk {} moves, {} hosts informed", order, informed.size()));
  moves_.push_back({order, history_.now()});
  cluster_.move(order, *cluster_.spare(), informed);
  if (!run_until(kMoveBound, [&] { return cluster_.replicated(order); }) && !history_.failed()) {
    history_.fail(fmt::format("disk {} is not complete {} s after it was moved: {}", order,
                              kMoveBound / 1s, cluster_.unsettled()));
  }
  moves_.back().until = history_.now();
}

void MovesRun::run() {
  workload_.judge_errors([this](std::size_t, Instant since) { return moving(since); });
  if (!run_until(kStartBound, [&] { return cluster_.all_ready(); })) {
    history_.fail("the group did not start: " + cluster_.unsettled());
  }
  for (std::size_t host = 0; host + cluster_.clients() < cluster_.hosts(); ++host) {
    cluster_.drive(host).faults().slow_factor = 1 + random_.below(kSlowMax);
  }
  for (std::size_t client = 0; client < cluster_.clients(); ++client) workload_.attach(client);
  const Instant end = history_.now() + options_.trouble;
  while (history_.now() < end && !history_.failed()) move_one();
  workload_.stop();
  run_until(kDrainBound, [&] { return workload_.in_flight() == 0; });
  if (workload_.in_flight() > 0 && !history_.failed())
    history_.fail("commands were never answered");
  for (std::size_t host = 0; host + cluster_.clients() < cluster_.hosts(); ++host) {
    cluster_.drive(host).faults() = DiskFaults{};
  }
  if (!history_.failed()) FinalChecks(world_, cluster_, model_, history_).check();
  world_.shutdown();
}

}  // namespace

SeedReport run_moves_seed(const SeedOptions& options) {
  std::optional<ScopedLogCapture> silence;
  if (!options.verbose) silence.emplace(0);
  const Erasure erasure = options.erasure.value_or(kMoving[options.seed % std::size(kMoving)]);
  SimWorld world(options.seed);
  History history(world, options.verbose);
  {
    MovesRun run(options, world, history, erasure);
    run.run();
  }
  return report_of(erasure, world, history);
}

}  // namespace moraine::sim
