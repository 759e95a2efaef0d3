// Completion: lets a thread wait for work that it handed to the database's thread.
//
// Promise    wait() returns after set(), and set() reads and writes nothing here once wait() may
//            return: a Completion may live on the waiting thread's stack.
// Threading  set() once, on any thread; wait() once, on another.
// Limits     A wait looks for its end for kWatchTime before it sleeps: a durable commit is often
//            quicker than a sleep and a wake. At most half of the processors look on at once.
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
  static constexpr auto kWatchTime = std::chrono::microseconds(300);

  void set();
  void wait();

 private:
  enum State : std::uint32_t { kOpen, kAsleep, kSet };

  // True when set() was seen.
  bool watch() const;

  std::atomic<std::uint32_t> state_{kOpen};  // A futex.
};

// Runs a coroutine on another thread's executor and waits for its end.
void wait_for(Executor& executor, std::function<Task<void>()> body);

}  // namespace moraine::embed
