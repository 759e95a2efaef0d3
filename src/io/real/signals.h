// SignalWatch: SIGINT, SIGTERM and the like as callbacks on a lane.
//
// Promise    Each delivery of a watched signal leads to a callback on the lane; deliveries of the
//            same signal that come close together may lead to one.
// Invariants One SignalWatch at a time in a process. Its destructor restores the previous handlers.
// Threading  Constructed and destroyed on the lane's thread or while the lane does not run. The
//            system may deliver the signal to any thread.
#pragma once

#include <signal.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "io/real/lane.h"
#include "io/task.h"

namespace moraine {

class SignalWatch final : public FdHandler {
 public:
  using Handler = std::move_only_function<void(int signal)>;

  SignalWatch(Lane& lane, const std::vector<int>& signals, Handler handler);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

  void on_ready(Ready ready) override;

 private:
  Lane& lane_;
  std::shared_ptr<Handler> handler_;  // Pending callbacks hold it weakly.
  int read_fd_ = -1;
  int write_fd_ = -1;
  WatchId watch_;
  std::vector<std::pair<int, struct sigaction>> previous_;
};

// Suspends until one of `signals` is delivered, and returns its number.
Task<int> wait_for_signal(Lane& lane, std::vector<int> signals);

}  // namespace moraine
