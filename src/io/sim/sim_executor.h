// SimExecutor: the one event loop of a simulated world, on virtual time.
//
// Promise    Events run in the order of (time, order of adding); the same program with the same
//            seed runs the same events at the same times and ends with the same trace_hash().
// Invariants (1) Virtual time moves only between events, to the time of the next one. (2) With
//            jitter, events come later by at most jitter_max; posts of one executor stay in order.
// Threading  One thread for the whole world.
// Limits     kEventsPendingMax events; kEventsPerInstantMax events without time moving, past which
//            the simulation stops: some loop never sleeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/executor.h"
#include "io/random.h"

namespace moraine {

class NodeExecutor;

class SimExecutor final : public Executor {
 public:
  static constexpr std::uint64_t kEventsPendingMax = std::uint64_t{1} << 24;
  static constexpr std::uint64_t kEventsPerInstantMax = 10'000'000;

  explicit SimExecutor(std::uint64_t seed = 0, Duration jitter_max = Duration{0});
  ~SimExecutor() override;
  SimExecutor(const SimExecutor&) = delete;
  SimExecutor& operator=(const SimExecutor&) = delete;

  // As an Executor it belongs to the scenario, not to a node: no crash or pause touches its events.
  void post(Callback callback) override;
  Instant now() const override { return now_; }
  TimerId schedule(Instant when, Callback callback) override;
  void cancel(TimerId timer) override;
  bool on_this_thread() const override { return true; }

  // Runs the next event. False: no event is pending.
  bool step();
  // Runs all events due up to `when`, and moves time there.
  void run_until(Instant when);
  void run_for(Duration duration) { run_until(now_ + duration); }
  // Runs until no event is pending. False: `bound` was reached first.
  bool run_until_idle(Instant bound = Instant::never());

  // Counts cancelled events that still hold a place in the queue.
  std::size_t pending() const { return heap_.size(); }
  std::uint64_t events_run() const { return events_run_; }
  // The node whose event runs now; null in the scenario's events and outside the loop.
  const NodeExecutor* running() const { return running_; }

  // Mixes `word` into trace_hash().
  void trace(std::uint64_t word) {
    trace_hash_ = (trace_hash_ ^ word) * 0x9e3779b97f4a7c15;
    trace_hash_ ^= trace_hash_ >> 32;
  }
  std::uint64_t trace_hash() const { return trace_hash_; }

  // Drops all pending events without running them.
  void clear();

 private:
  friend class NodeExecutor;

  static constexpr std::size_t kStaleMin = 1024;
  static constexpr unsigned kSlotBits = 24;

  struct Entry {
    Duration time;
    std::uint64_t order;
    std::uint32_t slot;
  };
  struct Slot {
    Callback callback;
    NodeExecutor* owner = nullptr;
    std::uint64_t order = 0;  // Order of the event in the slot; 0 is none.
  };
  // Heap order: the earliest entry first.
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  // Puts the callback into a slot; the entry is not in the queue yet.
  Entry fill_slot(NodeExecutor* owner, Duration time, Callback callback);
  TimerId enqueue(Entry entry);
  TimerId timer_id(const Entry& entry) const { return {entry.order << kSlotBits | entry.slot}; }
  bool stale(const Entry& entry) const { return slots_[entry.slot].order != entry.order; }
  // Empties the slot. Requires: the entry is not stale.
  Callback take(const Entry& entry);
  void run(const Entry& entry);
  // True when the front of the queue can run: cancelled entries are dropped and those of paused
  // nodes set aside.
  bool front_ready();
  void pop_front();
  void drop_stale();
  Duration jitter();
  Duration post_time(Duration& last_post);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  Instant now_;
  std::uint64_t next_order_ = 1;
  std::size_t stale_ = 0;  // Estimate: entries of cancelled events in the queue.
  std::uint64_t events_run_ = 0;
  std::uint64_t events_this_instant_ = 0;
  std::uint64_t trace_hash_ = 0;
  NodeExecutor* running_ = nullptr;

  SeededRandom random_;
  Duration jitter_max_;
  Duration last_post_{0};
};

}  // namespace moraine
