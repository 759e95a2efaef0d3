// HeldExecutor: an executor on a simulated loop whose callbacks wait while it is held. For tests.
#pragma once

#include <utility>
#include <vector>

#include "io/sim/sim_executor.h"

namespace moraine {

class HeldExecutor final : public Executor {
 public:
  explicit HeldExecutor(SimExecutor& loop) : loop_(loop) {}

  void hold() { held_ = true; }
  void release() {
    held_ = false;
    for (Callback& callback : std::exchange(waiting_, {})) loop_.post(std::move(callback));
  }
  std::size_t posted() const { return posted_; }

  void post(Callback callback) override {
    ++posted_;
    if (held_) {
      waiting_.push_back(std::move(callback));
    } else {
      loop_.post(std::move(callback));
    }
  }
  Instant now() const override { return loop_.now(); }
  TimerId schedule(Instant when, Callback callback) override {
    return loop_.schedule(when, std::move(callback));
  }
  void cancel(TimerId timer) override { loop_.cancel(timer); }
  bool on_this_thread() const override { return false; }

 private:
  SimExecutor& loop_;
  bool held_ = false;
  std::size_t posted_ = 0;
  std::vector<Callback> waiting_;
};

}  // namespace moraine
