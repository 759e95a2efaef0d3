// SimNode: one simulated machine: lanes, a clock, disks and a place in the network.
//
// Promise    Components get everything they may use from world(). A crash is a power cut: un-synced
//            writes are kept or lost by the policy, and nothing the node does later reaches a disk
//            or another node. The disks and the wall clock outlive crashes.
// Threading  The thread of the simulation.
//
// The sequence of a crash. The scenario registers its hooks for each life:
//   1. crash(): the disks freeze, their locks are released, the executor is dead. From here on disk
//      and network calls of this life, pending and new, fail with kUnavailable.
//   2. on_stop hooks run, in order: each asks its component to stop (TaskScope::close(), a last
//      message to its mailbox). What waits for a timer or for I/O needs no such hook.
//   3. Drain: pending callbacks and timers run at once until nothing is pending, so that coroutines
//      complete (NodeExecutor::kDrainedEventsMax bounds it).
//   4. on_crash hooks run, last first: each destroys the components of this life. Drain again.
//   5. restart(): the node is alive again; the scenario builds components from world().
// crash() does all of 1-4 before it returns when called outside the loop or from an event of the
// scenario (posted to SimWorld::executor(), or an on_io hook). Called from an event of a node,
// whose frames may be on the stack, it does 1 at once, and 2-4 as the scenario's next event; a
// coroutine that has to continue after 4 awaits crash_and_wait() instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/lane_network.h"
#include "io/sim/node_executor.h"
#include "io/sim/sim_disk.h"
#include "io/sim/sim_network.h"
#include "io/world.h"

namespace moraine {

// Virtual time as wall-clock time; the scenario may make it jump.
class SimClock final : public WallClock {
 public:
  static constexpr std::chrono::milliseconds kEpoch{1'767'225'600'000};  // 2026-01-01 UTC

  SimClock(const SimExecutor& loop, FaultCounters& faults) : loop_(loop), faults_(faults) {}
  std::chrono::milliseconds since_epoch() const override;
  // Forwards or backwards.
  void jump(std::chrono::milliseconds distance);
  void set_skew(std::chrono::milliseconds skew) { skew_ = skew; }

 private:
  const SimExecutor& loop_;
  FaultCounters& faults_;
  std::chrono::milliseconds skew_{0};
};

class SimNode {
 public:
  struct Parts {
    SimExecutor& loop;
    SimNetwork& fabric;
    FaultCounters& faults;
    std::uint64_t seed;
    DiskTiming disk;
    bool trace_contents;
  };

  SimNode(NodeId id, Parts parts);
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;

  NodeId id() const { return id_; }
  bool alive() const { return state_ == State::kAlive; }
  // The number of restarts.
  std::uint64_t restarts() const { return lives_.size() - 1; }

  // What the components of this life may use. Requires: alive().
  World world() { return lanes(1).front(); }
  // The same for a node with several lanes, each with an executor of its own; the first is that of
  // world().
  std::vector<World> lanes(std::size_t count);
  SimDiskStore& disks() { return disks_; }
  SimClock& clock() { return clock_; }

  void on_stop(Callback hook) { stop_hooks_.push_back(std::move(hook)); }
  void on_crash(Callback hook) { crash_hooks_.push_back(std::move(hook)); }

  // Requires: alive().
  void crash(CrashPolicy policy = CrashPolicy::kRandom);
  // The same from a coroutine, which continues when the crash is complete.
  Task<void> crash_and_wait(CrashPolicy policy = CrashPolicy::kRandom);
  // Requires: the crash is complete.
  void restart();

  // A paused node runs nothing; its requests to disks and the network continue.
  void pause();
  void resume();
  bool paused() const { return lives_.back()->executor.paused(); }

 private:
  enum class State : std::uint8_t { kAlive, kDying, kDown };

  // A lane besides the first.
  struct Lane {
    Lane(SimNode& node, NodeNetwork& nodes_network, NodeExecutor& first, std::uint64_t seed,
         std::uint32_t index);
    NodeExecutor executor;
    SeededRandom random;
    NodeDiskStore disks;
    LaneNetwork network;
  };
  // One life; ended ones are kept, dead, as there may still be references to them.
  struct Life {
    Life(SimNode& node, std::uint64_t number);
    const std::uint64_t number;
    NodeExecutor executor;
    SeededRandom random;
    NodeDiskStore disks;
    NodeNetwork network;
    std::vector<std::unique_ptr<Lane>> lanes;
  };

  void finish_crash();
  // Runs what is pending on all lanes of the dead life.
  void drain();

  const NodeId id_;
  const Parts parts_;
  SimDiskStore disks_;
  SimClock clock_;
  State state_ = State::kAlive;
  std::vector<std::unique_ptr<Life>> lives_;
  std::vector<Callback> stop_hooks_;
  std::vector<Callback> crash_hooks_;
};

}  // namespace moraine
