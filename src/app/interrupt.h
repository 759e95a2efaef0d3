// InterruptWatch: a flag for SIGINT and SIGTERM, so that a command can end its work cleanly.
//
// Promise    The first signal makes interrupted() true and ends a blocking call with EINTR; the
//            second one ends the program as usual.
// Threading  One at a time in the process.
#pragma once

#include <csignal>

namespace moraine::app {

// Whether a signal came since the last watch began.
bool interrupt_came();

class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();

  bool interrupted() const { return interrupt_came(); }

 private:
  struct sigaction interrupt_before_{};
  struct sigaction terminate_before_{};
};

}  // namespace moraine::app
