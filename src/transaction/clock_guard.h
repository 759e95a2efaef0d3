// ClockGuard: a wall clock that does not jump far ahead before an operator has confirmed it.
//
// Timestamps are made durable and never go back, and retention drops versions by their age: one
// moment of a wrong clock would make live data expire for ever. So a clock that is further ahead
// than it can have come is not believed.
//
// Promise    since_epoch() is the wall clock, while that is at most `jump_max` ahead of the last
//            time that was believed plus the monotonic time since then. Else, and until the clock
//            is set right or accept() is called, it is that sum. Before the first check() it is 0.
//            A clock that goes back is believed.
//            check() compares with the newest durable timestamp, too: at its first call the clock
//            may be `jump_at_start_max` ahead of that, the time for which the node may have been
//            off.
// Threading  Any thread.
// Errors     kUnavailable: the clock is not believed; the text says by how much and what to do.
// Tests      clock_guard_test.cpp, timestamp_oracle_test.cpp.
#pragma once

#include <mutex>
#include <optional>

#include "base/result.h"
#include "io/world.h"
#include "table/model/timestamp.h"

namespace moraine {

inline constexpr std::chrono::hours kClockJumpMax = std::chrono::hours{24};
inline constexpr std::chrono::hours kClockJumpAtStartMax = std::chrono::hours{720};

struct ClockLimits {
  std::chrono::milliseconds jump_max = kClockJumpMax;
  std::chrono::milliseconds jump_at_start_max = kClockJumpAtStartMax;
  bool accept = false;  // The first check() believes the clock whatever it says.
};

class ClockGuard final : public WallClock {
 public:
  // Both outlive it. now() of the executor is called on any thread.
  ClockGuard(const WallClock& clock, const Executor& executor, ClockLimits limits);

  std::chrono::milliseconds since_epoch() const override;
  // Before timestamps up to the clock's are made durable. `durable`: the newest that are; 0: none.
  Result<void> check(Timestamp durable);
  // The next check() believes the clock whatever it says.
  void accept();
  // Why the last check() failed; nullopt: it did not.
  std::optional<Error> refusal() const;

 private:
  struct Believed {
    std::chrono::milliseconds time{0};
    Instant at;
  };
  // Requires: the mutex, and a time that was believed.
  std::chrono::milliseconds expected() const;

  const WallClock& clock_;
  const Executor& executor_;
  const ClockLimits limits_;
  mutable std::mutex mutex_;
  std::optional<Believed> believed_;
  bool started_ = false;  // A check() has passed.
  bool accepts_;
  std::optional<Error> refusal_;
};

}  // namespace moraine
