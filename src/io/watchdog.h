// Watchdog: closes a stream on which nothing happens for too long.
//
// Promise    Moving a deadline later costs no timer: the one timer checks the deadlines again when
//            it fires.
// Threading  The executor.
#pragma once

#include <functional>
#include <string_view>

#include "io/executor.h"

namespace moraine {

class Watchdog {
 public:
  // `expired` is called with the reason of the deadline that has passed.
  Watchdog(Executor& executor, std::function<void(std::string_view)> expired)
      : executor_(executor), expired_(std::move(expired)) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { executor_.cancel(timer_); }

  // One deadline for reading and one for writing; `reason` is a literal.
  void reading(Duration within, std::string_view reason) { set(read_, within, reason); }
  void not_reading() { read_.at = Instant::never(); }
  void writing(Duration within, std::string_view reason) { set(write_, within, reason); }
  void not_writing() { write_.at = Instant::never(); }

 private:
  struct Deadline {
    Instant at = Instant::never();
    std::string_view reason;
  };
  void set(Deadline& deadline, Duration within, std::string_view reason);
  void arm();
  void fire();

  Executor& executor_;
  const std::function<void(std::string_view)> expired_;
  Deadline read_;
  Deadline write_;
  TimerId timer_;
  Instant timer_at_ = Instant::never();
};

}  // namespace moraine
