// Event, Signal: how a coroutine waits until something changes on its executor.
//
//   while (in_flight_ > 0) co_await idle_.wait();                       an Event: the condition is
//                                                                       beside it
//   while (!scope_.closed()) {
//     look();
//     co_await wakes_.wait_until(next, scope_);                         a Signal
//   }
//
// Promise    Waiters are resumed from the executor's queue, in the order in which they began to
//            wait, never inside the call that wakes them: the caller may go on using its state, and
//            a waiter checks its condition again. Closing the scope that a wait names ends it.
// Invariants Nobody waits for an object that is destroyed; a waiter that was woken does not touch
//            it any more before it runs.
// Threading  The executor's thread, which is checked where somebody waits.
// Limits     A wait allocates nothing (io/wait.h). The waiting code bounds how many wait.
#pragma once

#include "io/sync.h"
#include "io/wait.h"

namespace moraine {

// Something that changes. A notification is not remembered: check the condition, then wait, with no
// co_await between the two.
class Event {
 public:
  explicit Event(Executor& executor) : executor_(executor) {}

  // Wakes all that wait now.
  void notify_all() { waiting_.end_all(true); }
  bool waited_for() const { return !waiting_.empty(); }

  Wait wait() { return wait_until(Instant::never()); }
  // The awaited value is false when the deadline passed first.
  Wait wait_until(Instant deadline) { return {executor_, &waiting_, nullptr, false, deadline}; }
  // False also when `scope` is closed, now or during the wait.
  Wait wait_until(Instant deadline, TaskScope& scope) {
    return {executor_, &waiting_, &scope.closing(), scope.closed(), deadline};
  }
  Wait wait(TaskScope& scope) { return wait_until(Instant::never(), scope); }

 private:
  Executor& executor_;
  WaitList waiting_;
};

// A request to look again that is remembered until its one waiter has seen it: several requests
// before a wait are one.
class Signal {
 public:
  explicit Signal(Executor& executor) : executor_(executor) {}

  void set() {
    set_ = true;
    waiting_.end_all(true);
  }
  bool is_set() const { return set_; }

  // Takes the request back. A request that is there is seen from the executor's queue too, so that
  // a loop that wakes itself lets others run. The awaited value is as that of an Event.
  auto wait_until(Instant deadline) { return Taken(*this, nullptr, false, deadline); }
  auto wait_until(Instant deadline, TaskScope& scope) {
    return Taken(*this, &scope.closing(), scope.closed(), deadline);
  }

 private:
  class Taken : public Wait {
   public:
    Taken(Signal& signal, WaitList* scope, bool closed, Instant deadline)
        : Wait(signal.executor_, &signal.waiting_, scope, closed, deadline), signal_(signal) {}
    void await_suspend(std::coroutine_handle<> self) {
      Wait::await_suspend(self);
      if (signal_.set_) signal_.waiting_.end_all(true);
    }
    bool await_resume() noexcept {
      return std::exchange(signal_.set_, false) || Wait::await_resume();
    }

   private:
    Signal& signal_;
  };

  Executor& executor_;
  WaitList waiting_;
  bool set_ = false;
};

// Sleeps until `deadline`. False: the scope was closed first.
inline Task<bool> sleep_until(Executor& executor, Instant deadline, TaskScope& scope) {
  co_await Wait(executor, nullptr, &scope.closing(), scope.closed(), deadline);
  co_return !scope.closed();
}
inline Task<bool> sleep_for(Executor& executor, Duration duration, TaskScope& scope) {
  return sleep_until(executor, executor.now() + duration, scope);
}

}  // namespace moraine
