// ClockGuard: a wall clock that does not jump far ahead before an operator has confirmed it.
//
// Timestamps are made durable and never go back, and retention drops versions by their age: a clock
// that is wrong for a moment would make live data expire. So a clock that is further ahead than the
// elapsed time explains is refused.
//
// Promise    since_epoch() is the wall clock, while that is at most `jump_max` ahead of the last
//            accepted time plus the monotonic time since then. Otherwise, and until the clock is
//            corrected or accept() is called, it is that sum. Before the first check() it is 0.
//            A clock that goes back is accepted.
//            check() compares with the newest durable timestamp, too: at its first call the clock
//            may be `jump_at_start_max` ahead of that, the time for which the node may have been
//            off.
// Threading  Any thread.
// Errors     kUnavailable: the clock is refused; the text says by how much it is ahead and what to
//            do.
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
  bool accept = false;  // The first check() accepts any clock.
};

class ClockGuard final : public WallClock {
 public:
  // Both outlive the guard. now() of the executor is called on any thread.
  ClockGuard(const WallClock& clock, const Executor& executor, ClockLimits limits);

  std::chrono::milliseconds since_epoch() const override;
  // Call before timestamps up to the clock's are made durable. `durable`: the newest one; 0: none.
  Result<void> check(Timestamp durable);
  // The next check() accepts any clock.
  void accept();
  // Why the last check() failed; nullopt: it did not.
  std::optional<Error> refusal() const;

 private:
  struct Accepted {
    std::chrono::milliseconds time{0};
    Instant at;
  };
  // Requires: the mutex is held, and a time was accepted.
  std::chrono::milliseconds expected() const;

  const WallClock& clock_;
  const Executor& executor_;
  const ClockLimits limits_;
  mutable std::mutex mutex_;
  std::optional<Accepted> accepted_;
  bool started_ = false;  // A check() has passed.
  bool accepts_;
  std::optional<Error> refusal_;
};

}  // namespace moraine
