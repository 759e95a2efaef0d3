// Completion: lets a thread wait for work that it posted to the database's thread.
//
// Promise    wait() returns after set(), and set() does not touch this object once wait() may
//            return: a Completion may live on the waiting thread's stack.
// Threading  set() once, on any thread; wait() once, on another.
// Limits     wait() spins for up to kSpinTime before it sleeps: a durable commit is often quicker
//            than a sleep and a wake-up. At most half of the processors spin at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "io/executor.h"
#include "io/task.h"

namespace moraine::embed {

class Completion {
 public:
  static constexpr auto kSpinTime = std::chrono::microseconds(300);

  void set();
  void wait();

 private:
  enum State : std::uint32_t { kOpen, kAsleep, kSet };

  // True when set() was seen.
  bool spin() const;

  std::atomic<std::uint32_t> state_{kOpen};  // A futex.
};

// Runs a coroutine on another thread's executor and waits until it has finished. `body` and its
// captures are destroyed there before this returns: what the caller refers to outlives them.
void wait_for(Executor& executor, std::function<Task<void>()> body);

}  // namespace moraine::embed
