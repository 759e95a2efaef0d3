// Notify: wakes all waiting coroutines of one executor, which then check their conditions again.
#pragma once

#include <coroutine>
#include <utility>
#include <vector>

namespace moraine::blob {

class Notify {
 public:
  auto wait() {
    struct Awaiter {
      Notify& notify;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> self) { notify.waiters_.push_back(self); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }
  void all() {
    for (const std::coroutine_handle<> waiter : std::exchange(waiters_, {})) waiter.resume();
  }

 private:
  std::vector<std::coroutine_handle<>> waiters_;
};

}  // namespace moraine::blob
