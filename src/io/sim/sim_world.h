// SimWorld: a whole simulated world from one seed.
//
// Promise    The same program with the same seed and options gives the same trace_hash(). Each
//            consumer of randomness has a stream of its own: adding one does not shift the others.
// Invariants Components are destroyed before the world, after shutdown() ended their coroutines.
// Threading  One thread.
// Limits     run() aborts with a message after a bound of virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/sim/sim_executor.h"
#include "io/sim/sim_faults.h"
#include "io/sim/sim_network.h"
#include "io/sim/sim_node.h"
#include "io/task.h"

namespace moraine {

struct SimOptions {
  // Shifts events by up to this much: interleavings of equal times then vary with the seed.
  Duration jitter_max{0};
  // Each node's wall clock starts up to this much ahead or behind.
  std::chrono::milliseconds clock_skew_max{0};
  DiskTiming disk;
  LinkFaults network;
  // Bytes of writes and messages enter the trace, not only their sizes.
  bool trace_contents = true;
};

class SimWorld {
 public:
  static constexpr Duration kRunBound = 1h;
  static constexpr std::size_t kNodesMax = 10'000;

  explicit SimWorld(std::uint64_t seed, SimOptions options = {});
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  std::uint64_t seed() const { return seed_; }
  SimExecutor& executor() { return loop_; }
  SimNetwork& network() { return fabric_; }
  FaultCounters& faults() { return faults_; }
  std::uint64_t trace_hash() const { return loop_.trace_hash(); }

  // Ids are 1, 2, 3, ...
  SimNode& add_node();
  SimNode& node(NodeId id);
  std::size_t node_count() const { return nodes_.size(); }

  // A stream of random numbers for one purpose of the scenario.
  SeededRandom stream(std::string_view purpose, std::uint64_t index = 0) const {
    return SeededRandom(stream_seed(seed_, purpose, index));
  }

  void run_for(Duration duration) { loop_.run_for(duration); }
  // Starts `task` as an event of the scenario and runs the loop until it is done.
  template <class T>
  T run(Task<T> task, Duration bound = kRunBound);

  // Crashes the nodes that are alive, the last first, so that all their coroutines end. Every disk
  // keeps what was written.
  void shutdown();

 private:
  template <class T>
  static Task<void> finish(Task<T> task, std::optional<T>& result, bool& done);
  static Task<void> finish_void(Task<void> task, bool& done);
  void drive(Task<void> task, const bool& done, Duration bound);

  const std::uint64_t seed_;
  const SimOptions options_;
  SimExecutor loop_;
  FaultCounters faults_;
  SimNetwork fabric_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
};

template <class T>
Task<void> SimWorld::finish(Task<T> task, std::optional<T>& result, bool& done) {
  result.emplace(co_await std::move(task));
  done = true;
}

template <class T>
T SimWorld::run(Task<T> task, Duration bound) {
  bool done = false;
  if constexpr (std::is_void_v<T>) {
    drive(finish_void(std::move(task), done), done, bound);
  } else {
    std::optional<T> result;
    drive(finish(std::move(task), result, done), done, bound);
    return std::move(*result);
  }
}

}  // namespace moraine
