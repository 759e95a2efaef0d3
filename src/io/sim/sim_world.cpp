#include "io/sim/sim_world.h"

#include <utility>

#include "base/invariant.h"

namespace moraine {

SimWorld::SimWorld(std::uint64_t seed, SimOptions options)
    : seed_(seed),
      options_(options),
      loop_(seed, options.jitter_max),
      fabric_(loop_, faults_, stream_seed(seed, "network"), options.network,
              options.trace_contents) {}

SimWorld::~SimWorld() {
  // Dropped callbacks may own objects whose destructors use their node.
  loop_.clear();
}

SimNode& SimWorld::add_node() {
  INVARIANT(nodes_.size() < kNodesMax, "{} nodes", nodes_.size());
  const auto id = static_cast<std::uint32_t>(nodes_.size() + 1);
  SimNode::Parts parts{.loop = loop_,
                       .fabric = fabric_,
                       .faults = faults_,
                       .seed = stream_seed(seed_, "node", id),
                       .disk = options_.disk,
                       .trace_contents = options_.trace_contents};
  SimNode& node = *nodes_.emplace_back(std::make_unique<SimNode>(NodeId{id}, parts));
  const auto skew_max = static_cast<std::uint64_t>(options_.clock_skew_max.count());
  const std::uint64_t skew = stream("clock", id).below(2 * skew_max + 1);
  node.clock().set_skew(std::chrono::milliseconds(skew) - options_.clock_skew_max);
  return node;
}

SimNode& SimWorld::node(NodeId id) {
  INVARIANT(id.value >= 1 && id.value <= nodes_.size(), "no node {}", id.value);
  return *nodes_[id.value - 1];
}

Task<void> SimWorld::finish_void(Task<void> task, bool& done) {
  co_await std::move(task);
  done = true;
}

void SimWorld::drive(Task<void> task, const bool& done, Duration bound) {
  loop_.post([held = std::move(task)]() mutable { spawn(std::move(held)); });
  const Instant end = loop_.now() + bound;
  while (!done) {
    const bool stepped = loop_.step();
    INVARIANT(stepped || done,
              "seed {}: no event is pending and the task is not done ({} calls in flight; faults "
              "so far: {})",
              seed_, fabric_.calls_in_flight(), faults_.to_string());
    INVARIANT(loop_.now() <= end,
              "seed {}: the task is not done after {} ns of virtual time (faults so far: {})",
              seed_, bound.count(), faults_.to_string());
  }
}

void SimWorld::shutdown() {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if ((*node)->alive()) (*node)->crash(CrashPolicy::kKeep);
  }
}

}  // namespace moraine
