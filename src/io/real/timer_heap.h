// TimerHeap: the timers of one lane.
//
// Promise    Timers are due in the order of their times, equal times in the order of adding. A
//            cancelled timer never runs.
// Invariants A TimerId is never reused while its slot's 32-bit generation has not wrapped.
// Threading  One thread.
// Limits     Cancelled entries stay in the heap until they outnumber the live ones, then it is
//            rebuilt: memory is at most twice that of the live timers plus kStaleMin entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/executor.h"

namespace moraine {

class TimerHeap {
 public:
  TimerId add(Instant when, Callback callback);
  // Does nothing when the timer has fired or was cancelled.
  void cancel(TimerId timer);

  // Time of the earliest timer, or Instant::never().
  Instant next();
  // Removes the earliest timer that is due at `now` and was added before mark() returned `before`;
  // an empty callback when there is none. `before` keeps a timer that re-arms itself from looping.
  Callback take_due(Instant now, std::uint64_t before);
  std::uint64_t mark() const { return next_order_; }

  std::size_t size() const { return live_; }

 private:
  static constexpr std::size_t kStaleMin = 64;

  struct Entry {
    Instant when;
    std::uint64_t order;
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct Slot {
    std::uint32_t generation = 1;
    Callback callback;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };

  bool stale(const Entry& entry) const { return slots_[entry.slot].generation != entry.generation; }
  void drop_stale_top();
  Callback free_slot(std::uint32_t slot);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t next_order_ = 0;
  std::size_t live_ = 0;
};

}  // namespace moraine
