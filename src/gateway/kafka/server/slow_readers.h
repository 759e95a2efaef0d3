// SlowReaders: closes connections that hold memory of answers and do not read them.
//
// Promise    While a memory of answers is nearly used up, connections that have not taken
//            kProgressBytes for some time are closed: the longest stalled first, and no more than
//            needed. That time is kCrowdedStallTimeout; the more others wait for, the shorter it
//            gets, down to kContendedStallTimeout. A connection that takes kProgressBytes within
//            that time is never closed.
// Threading  The executor.
// Tests      slow_readers_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <span>

#include "gateway/kafka/server/budget.h"
#include "io/executor.h"

namespace moraine::kafka {

inline constexpr Duration kSlowReadersPeriod = 250ms;

class SlowReaders {
 public:
  // One connection that writes from time to time.
  class Writer {
   public:
    // `close` is called at most once for each begin(), and never inside a call of this class.
    Writer(SlowReaders& all, std::function<void()> close) : all_(all), close_(std::move(close)) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() { end(); }

    // It has begun to write an answer that holds this memory.
    void begin(std::span<const ByteBudget::Lease> leases);
    // The client has taken kProgressBytes.
    void progressed();
    void end();

   private:
    friend class SlowReaders;
    std::size_t& held(const ByteBudget& budget) { return held_[&budget == &all_.reserved_]; }

    SlowReaders& all_;
    const std::function<void()> close_;
    bool writing_ = false;
    Instant progress_at_;
    std::array<std::size_t, 2> held_{};  // Of the common and of the reserved memory.
    std::list<Writer*>::iterator at_;
  };

  SlowReaders(Executor& executor, const ByteBudget& common, const ByteBudget& reserved)
      : executor_(executor), common_(common), reserved_(reserved) {}
  SlowReaders(const SlowReaders&) = delete;
  SlowReaders& operator=(const SlowReaders&) = delete;
  ~SlowReaders() { executor_.cancel(timer_); }

 private:
  void arm();
  void sweep();
  // Closes stalled connections that hold `least` bytes or more, until `bytes` are free.
  std::size_t make_room(const ByteBudget& budget, std::size_t bytes, std::size_t least);

  Executor& executor_;
  const ByteBudget& common_;
  const ByteBudget& reserved_;
  std::list<Writer*> writers_;  // By the time of their last progress, the oldest first.
  bool armed_ = false;
  TimerId timer_;
};

}  // namespace moraine::kafka
