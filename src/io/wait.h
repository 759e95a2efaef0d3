// Wait: one coroutine that waits on an executor until it is notified, its deadline passes, or the
// scope that it belongs to is closed. What `Event` (io/event.h) and TaskScope are made of.
//
// Promise    A coroutine is resumed from the executor's queue, never inside end().
// Invariants A Wait lives in the frame of the waiting coroutine and is in at most two lists; it is
//            in none when the coroutine is resumed.
// Threading  The executor's thread, which is checked.
// Limits     Nothing is allocated.
#pragma once

#include <coroutine>

#include "base/invariant.h"
#include "io/executor.h"

namespace moraine {

class Wait;

// Waits in the order in which they began.
class WaitList {
 public:
  class Hook {
   public:
    explicit Hook(Wait* wait) : wait_(wait) {}
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

   private:
    friend class Wait;
    friend class WaitList;
    void unlink() {
      before_->after_ = after_;
      after_->before_ = before_;
      before_ = after_ = this;
    }

    Hook* before_ = this;
    Hook* after_ = this;
    Wait* const wait_;
  };

  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList() { INVARIANT(empty(), "destroyed while a coroutine waits for it"); }

  bool empty() const { return ends_.after_ == &ends_; }
  void add(Hook& hook) {
    hook.before_ = ends_.before_;
    hook.after_ = &ends_;
    ends_.before_->after_ = &hook;
    ends_.before_ = &hook;
  }
  // Ends the wait that began first. Requires: !empty().
  void end_first(bool notified);
  // Ends those that wait now.
  void end_all(bool notified) {
    while (!empty()) end_first(notified);
  }

 private:
  Hook ends_{nullptr};
};

// Awaited once, at once. Returns true when it was notified; false when the deadline passed or the
// scope was closed first.
class Wait {
 public:
  // Null lists are not waited for.
  Wait(Executor& executor, WaitList* event, WaitList* scope, bool closed, Instant deadline)
      : executor_(executor), event_(event), scope_(scope), closed_(closed), deadline_(deadline) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  bool await_ready() const noexcept { return closed_; }
  void await_suspend(std::coroutine_handle<> self) {
    INVARIANT(executor_.on_this_thread(), "a coroutine waits on an executor that does not run it");
    self_ = self;
    if (event_ != nullptr) event_->add(in_event_);
    if (scope_ != nullptr) scope_->add(in_scope_);
    if (deadline_ == Instant::never()) return;
    timer_ = executor_.schedule(deadline_, [this] {
      in_event_.unlink();
      in_scope_.unlink();
      self_.resume();
    });
  }
  bool await_resume() const noexcept { return notified_; }

 private:
  friend class WaitList;

  void end(bool notified) {
    INVARIANT(executor_.on_this_thread(), "a waiting coroutine is notified by another executor");
    in_event_.unlink();
    in_scope_.unlink();
    if (timer_.value != 0) executor_.cancel(timer_);
    notified_ = notified;
    executor_.post([self = self_] { self.resume(); });
  }

  Executor& executor_;
  WaitList* const event_;
  WaitList* const scope_;
  const bool closed_;
  bool notified_ = false;
  const Instant deadline_;
  TimerId timer_;
  std::coroutine_handle<> self_;
  WaitList::Hook in_event_{this};
  WaitList::Hook in_scope_{this};
};

inline void WaitList::end_first(bool notified) {
  ends_.after_->wait_->end(notified);
}

}  // namespace moraine
