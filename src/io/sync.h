// Waiting inside one executor: sleep, hop, OneShot, Mailbox, Semaphore, TaskScope.
//
// Threading  Every object here belongs to one executor and is used on its thread only, except that
//            `hop` moves the calling coroutine onto another executor.
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/invariant.h"
#include "io/executor.h"
#include "io/task.h"
#include "io/wait.h"

namespace moraine {

// Suspends until `duration` has passed on `executor`.
inline auto sleep_for(Executor& executor, Duration duration) {
  struct Awaiter {
    Executor& executor;
    Duration duration;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      executor.schedule(executor.now() + duration, [self] { self.resume(); });
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{executor, duration};
}

// Continues on `executor`'s thread; costs nothing when already there.
inline auto hop(Executor& executor) {
  struct Awaiter {
    Executor& executor;
    bool await_ready() const noexcept { return executor.on_this_thread(); }
    void await_suspend(std::coroutine_handle<> self) {
      executor.post([self] { self.resume(); });
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{executor};
}

// Lets other callbacks of `executor` run first: a long loop awaits this now and then.
inline auto yield(Executor& executor) {
  struct Awaiter {
    Executor& executor;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      executor.post([self] { self.resume(); });
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{executor};
}

// A value set once, awaited by at most one coroutine. Setting resumes the waiter at once, on the
// setter's thread; a second set is ignored and returns false.
template <class T>
class OneShot {
 public:
  bool set(T value) {
    if (value_) return false;
    value_.emplace(std::move(value));
    if (waiter_) std::exchange(waiter_, nullptr).resume();
    return true;
  }
  bool ready() const { return value_.has_value(); }

  bool await_ready() const noexcept { return ready(); }
  void await_suspend(std::coroutine_handle<> self) { waiter_ = self; }
  T await_resume() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  std::coroutine_handle<> waiter_;
};

// A queue with one reader and no limit of its own: the pushing code bounds what is in flight.
// `pop_until` returns nullopt when `deadline` passes first.
template <class T>
class Mailbox {
 public:
  explicit Mailbox(Executor& executor) : executor_(&executor) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() { INVARIANT(!waiter_, "mailbox destroyed while a coroutine waits on it"); }

  void push(T item) {
    items_.push_back(std::move(item));
    wake();
  }
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }

  auto pop_until(Instant deadline) {
    struct Awaiter {
      Mailbox& box;
      Instant deadline;
      bool await_ready() const noexcept { return !box.items_.empty(); }
      void await_suspend(std::coroutine_handle<> self) {
        INVARIANT(!box.waiter_, "a mailbox has one reader");
        box.waiter_ = self;
        if (deadline != Instant::never()) {
          box.timer_ = box.executor_->schedule(deadline, [b = &box] {
            b->timer_ = {};
            std::exchange(b->waiter_, nullptr).resume();
          });
        }
      }
      std::optional<T> await_resume() {
        if (box.items_.empty()) return std::nullopt;
        std::optional<T> item(std::move(box.items_.front()));
        box.items_.pop_front();
        return item;
      }
    };
    return Awaiter{*this, deadline};
  }

 private:
  void wake() {
    if (!waiter_) return;
    if (timer_.value != 0) executor_->cancel(std::exchange(timer_, TimerId{}));
    std::exchange(waiter_, nullptr).resume();
  }

  Executor* executor_;
  std::deque<T> items_;
  std::coroutine_handle<> waiter_;
  TimerId timer_;
};

// Counted permits; waiters are served in order. release() gives its permit to the first waiter,
// which is resumed from the executor's queue: the caller may go on using its state, and a long
// chain of waiters does not recurse.
class Semaphore {
 public:
  Semaphore(Executor& executor, std::size_t permits) : executor_(executor), free_(permits) {}

  auto acquire() { return Acquired(*this); }
  void release() {
    if (waiters_.empty()) {
      ++free_;
      return;
    }
    --waiting_;
    waiters_.end_first(true);
  }
  std::size_t waiting() const { return waiting_; }

 private:
  class Acquired : public Wait {
   public:
    explicit Acquired(Semaphore& semaphore)
        : Wait(semaphore.executor_, &semaphore.waiters_, nullptr, false, Instant::never()),
          semaphore_(semaphore) {}
    bool await_ready() noexcept {
      if (semaphore_.free_ == 0 || !semaphore_.waiters_.empty()) return false;
      --semaphore_.free_;
      return true;
    }
    void await_suspend(std::coroutine_handle<> self) {
      ++semaphore_.waiting_;
      Wait::await_suspend(self);
    }
    void await_resume() const noexcept {}

   private:
    Semaphore& semaphore_;
  };

  Executor& executor_;
  std::size_t free_;
  std::size_t waiting_ = 0;
  WaitList waiters_;
};

// Owns background tasks: every task ends before join() returns, and destroying the scope while one
// lives is an invariant failure. close() asks tasks to stop, and ends the waits that name the scope
// (io/event.h); tasks check closed() after each await.
class TaskScope {
 public:
  TaskScope() = default;
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() { INVARIANT(live_ == 0, "{} tasks outlive their scope", live_); }

  void spawn(Task<void> task) {
    ++live_;
    moraine::spawn(run(std::move(task)));
  }
  void close() {
    closed_ = true;
    closing_.end_all(false);
  }
  bool closed() const { return closed_; }
  std::size_t live() const { return live_; }
  // The waits that close() ends.
  WaitList& closing() { return closing_; }

  // Waits until no task is live. At most one coroutine joins.
  auto join() {
    struct Awaiter {
      TaskScope& scope;
      bool await_ready() const noexcept { return scope.live_ == 0; }
      void await_suspend(std::coroutine_handle<> self) { scope.joiner_ = self; }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }

 private:
  Task<void> run(Task<void> task) {
    co_await std::move(task);
    if (--live_ == 0 && joiner_) std::exchange(joiner_, nullptr).resume();
  }

  std::size_t live_ = 0;
  bool closed_ = false;
  WaitList closing_;
  std::coroutine_handle<> joiner_;
};

}  // namespace moraine
