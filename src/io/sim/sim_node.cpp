#include "io/sim/sim_node.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "io/sync.h"

namespace moraine {
namespace {

constexpr std::uint64_t kDrainTurn = 1'000;  // Events of a lane.

}  // namespace

std::chrono::milliseconds SimClock::since_epoch() const {
  const auto passed =
      std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now().since_start);
  return kEpoch + passed + skew_;
}

void SimClock::jump(std::chrono::milliseconds distance) {
  faults_.add(FaultKind::kClockJump);
  skew_ += distance;
}

SimNode::Lane::Lane(SimNode& node, NodeNetwork& nodes_network, NodeExecutor& first,
                    std::uint64_t seed, std::uint32_t index)
    : executor(node.parts_.loop, node.id_.value, index),
      random(seed),
      disks(node.disks_, executor),
      network(nodes_network, first, executor) {}

SimNode::Life::Life(SimNode& node, std::uint64_t its_number)
    : number(its_number),
      executor(node.parts_.loop, node.id_.value),
      random(stream_seed(node.parts_.seed, "random", its_number)),
      disks(node.disks_, executor),
      network(node.parts_.fabric, executor) {}

SimNode::SimNode(NodeId id, Parts parts)
    : id_(id),
      parts_(parts),
      disks_(parts.loop, parts.faults, stream_seed(parts.seed, "disks"), parts.disk,
             parts.trace_contents),
      clock_(parts.loop, parts.faults) {
  lives_.push_back(std::make_unique<Life>(*this, 0));
  parts_.fabric.attach(lives_.back()->network);
}

std::vector<World> SimNode::lanes(std::size_t count) {
  INVARIANT(alive(), "node {} is down", id_.value);
  Life& life = *lives_.back();
  while (life.lanes.size() + 1 < count) {
    const auto index = static_cast<std::uint32_t>(life.lanes.size() + 1);
    const std::uint64_t seed =
        stream_seed(stream_seed(parts_.seed, "lanes", life.number), "random", index);
    life.lanes.push_back(std::make_unique<Lane>(*this, life.network, life.executor, seed, index));
    if (paused()) life.lanes.back()->executor.pause();
  }
  std::vector<World> worlds{{life.executor, clock_, life.random, life.disks, life.network}};
  for (std::size_t i = 0; i + 1 < count; ++i) {
    Lane& lane = *life.lanes[i];
    worlds.push_back({lane.executor, clock_, lane.random, lane.disks, lane.network});
  }
  return worlds;
}

void SimNode::crash(CrashPolicy policy) {
  INVARIANT(alive(), "node {} is down already", id_.value);
  parts_.faults.add(FaultKind::kCrash);
  parts_.loop.trace(id_.value);
  state_ = State::kDying;
  Life& life = *lives_.back();
  life.executor.kill();
  for (const auto& lane : life.lanes) lane->executor.kill();
  disks_.crash(policy);
  parts_.fabric.node_died(life.network);
  if (parts_.loop.running()) {
    parts_.loop.post([this] { finish_crash(); });
  } else {
    finish_crash();
  }
}

Task<void> SimNode::crash_and_wait(CrashPolicy policy) {
  co_await yield(parts_.loop);
  crash(policy);
}

// In turns: what one lane polls for may have to happen on another.
void SimNode::drain() {
  Life& life = *lives_.back();
  const auto idle = [](const auto& lane) { return lane->executor.drained(); };
  do {
    life.executor.drain(kDrainTurn);
    for (const auto& lane : life.lanes) lane->executor.drain(kDrainTurn);
  } while (!life.executor.drained() || !std::ranges::all_of(life.lanes, idle));
}

void SimNode::finish_crash() {
  for (Callback& hook : std::exchange(stop_hooks_, {})) hook();
  drain();
  std::vector<Callback> hooks = std::exchange(crash_hooks_, {});
  while (!hooks.empty()) {
    hooks.back()();
    hooks.pop_back();
  }
  drain();
  state_ = State::kDown;
}

void SimNode::restart() {
  INVARIANT(state_ == State::kDown, "node {} has not completed a crash", id_.value);
  lives_.push_back(std::make_unique<Life>(*this, lives_.size()));
  parts_.fabric.attach(lives_.back()->network);
  state_ = State::kAlive;
}

void SimNode::pause() {
  INVARIANT(alive(), "node {} is down", id_.value);
  parts_.faults.add(FaultKind::kPause);
  lives_.back()->executor.pause();
  for (const auto& lane : lives_.back()->lanes) lane->executor.pause();
}

void SimNode::resume() {
  lives_.back()->executor.resume();
  for (const auto& lane : lives_.back()->lanes) lane->executor.resume();
}

}  // namespace moraine
