// Waiters: coroutines that wait for wake_all(), each with a deadline.
//
// Promise    A coroutine that is waiting when wake_all() is called is resumed inside that call.
// Threading  The executor's thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/sync.h"

namespace moraine {

class Waiters {
 public:
  explicit Waiters(Executor& executor) : executor_(executor) {}

  // False: the deadline has passed first.
  Task<bool> wait_until(Instant deadline) {
    std::erase_if(waiting_, [](const auto& one) { return one->ready(); });
    const auto woken = std::make_shared<OneShot<bool>>();
    waiting_.push_back(woken);
    Executor& executor = executor_;
    TimerId timer;
    if (deadline != Instant::never()) {
      timer = executor.schedule(deadline, [woken] { woken->set(false); });
    }
    const bool in_time = co_await *woken;
    if (in_time && timer.value != 0) executor.cancel(timer);
    co_return in_time;
  }
  void wake_all() {
    for (const auto& one : std::exchange(waiting_, {})) one->set(true);
  }

 private:
  Executor& executor_;
  std::vector<std::shared_ptr<OneShot<bool>>> waiting_;
};

}  // namespace moraine
