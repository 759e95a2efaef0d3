// NodeExecutor: the Executor of one lane of a simulated node, for one life.
//
// Promise    Paused: due events wait for resume(). Killed: nothing that the node does has an effect
//            any more, and its pending callbacks and timers run at once on a private clock, without
//            virtual time passing, so that its coroutines complete.
// Invariants A killed executor stays dead; the next life of the node has executors of its own.
//            Timers of a lane are set and cancelled on that lane, as on real ones.
// Threading  The thread of the simulation.
// Limits     kDrainedEventsMax events after death: past it the simulation stops, as some loop
//            ignores both errors and TaskScope::closed().
#pragma once

#include <cstdint>
#include <vector>

#include "io/sim/sim_executor.h"

namespace moraine {

class NodeExecutor final : public Executor {
 public:
  static constexpr std::uint64_t kDrainedEventsMax = 1'000'000;

  NodeExecutor(SimExecutor& loop, std::uint32_t node, std::uint32_t lane = 0)
      : loop_(loop), node_(node), lane_(lane) {}

  void post(Callback callback) override;
  // After death: the private clock, which shows the time of the last timer that ran.
  Instant now() const override { return alive_ ? loop_.now() : private_now_; }
  TimerId schedule(Instant when, Callback callback) override;
  void cancel(TimerId timer) override;
  // False while another lane of the same node runs.
  bool on_this_thread() const override;

  std::uint32_t node() const { return node_; }
  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  void pause() { paused_ = alive_; }
  void resume();

  // Everything pending moves to the private clock; drain() runs it.
  void kill();
  // Runs pending events until none is left, or `events_max` have run. Requires: !alive().
  void drain(std::uint64_t events_max = ~std::uint64_t{0});
  // Requires: !alive().
  bool drained() const { return private_queue_.empty(); }

  // Counted for the error text of a drain that does not end.
  void note_refused_disk() { ++refused_disk_; }
  void note_refused_network() { ++refused_network_; }

 private:
  friend class SimExecutor;
  using Entry = SimExecutor::Entry;

  void set_aside(Entry entry) { set_aside_.push_back(entry); }
  TimerId enqueue_private(Duration time, Callback callback);
  void run_private(const Entry& entry);

  void check_lane() const;

  SimExecutor& loop_;
  const std::uint32_t node_;
  const std::uint32_t lane_;
  bool alive_ = true;
  bool paused_ = false;
  std::vector<Entry> set_aside_;
  Duration last_post_{0};

  // After death.
  std::vector<Entry> private_queue_;  // A heap, as the loop's queue.
  Instant private_now_;
  bool draining_ = false;
  bool drain_posted_ = false;
  std::uint64_t drained_ = 0;
  std::uint64_t late_posts_ = 0;
  std::uint64_t late_timers_ = 0;
  std::uint64_t refused_disk_ = 0;
  std::uint64_t refused_network_ = 0;
};

}  // namespace moraine
