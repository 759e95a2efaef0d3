#include "io/sim/sim_node.h"

#include <utility>

#include "base/invariant.h"
#include "io/sync.h"

namespace moraine {

std::chrono::milliseconds SimClock::since_epoch() const {
  const auto passed =
      std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now().since_start);
  return kEpoch + passed + skew_;
}

void SimClock::jump(std::chrono::milliseconds distance) {
  faults_.add(FaultKind::kClockJump);
  skew_ += distance;
}

SimNode::Life::Life(SimNode& node, std::uint64_t number)
    : executor(node.parts_.loop, node.id_.value),
      random(stream_seed(node.parts_.seed, "random", number)),
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

World SimNode::world() {
  INVARIANT(alive(), "node {} is down", id_.value);
  Life& life = *lives_.back();
  return {life.executor, clock_, life.random, life.disks, life.network};
}

void SimNode::crash(CrashPolicy policy) {
  INVARIANT(alive(), "node {} is down already", id_.value);
  parts_.faults.add(FaultKind::kCrash);
  parts_.loop.trace(id_.value);
  state_ = State::kDying;
  Life& life = *lives_.back();
  life.executor.kill();
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

void SimNode::finish_crash() {
  NodeExecutor& executor = lives_.back()->executor;
  for (Callback& hook : std::exchange(stop_hooks_, {})) hook();
  executor.drain();
  std::vector<Callback> hooks = std::exchange(crash_hooks_, {});
  while (!hooks.empty()) {
    hooks.back()();
    hooks.pop_back();
  }
  executor.drain();
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
}

void SimNode::resume() {
  lives_.back()->executor.resume();
}

}  // namespace moraine
