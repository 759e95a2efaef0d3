// ByteBudget: memory that connections share.
//
// Promise    Waiters are served in order; waiters that already hold bytes come before those that
//            hold none, and one of them at a time may exceed the limit: it can always finish, so
//            that holders never deadlock.
// Threading  The executor. Waiters are resumed by it, not inside a call.
// Limits     At most `limit` bytes are used, plus those of the one that exceeds it, plus forced
//            ones.
// Tests      budget_test.cpp
#pragma once

#include <coroutine>
#include <cstddef>
#include <deque>
#include <utility>

#include "io/executor.h"

namespace moraine::kafka {

class ByteBudget {
 public:
  // Bytes of a budget; released by the destructor.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      swap(other);
      return *this;
    }
    ~Lease() { release(); }

    std::size_t bytes() const { return bytes_; }
    // Null: of no budget.
    ByteBudget* budget() const { return budget_; }
    void release();
    // Sets it to `bytes` without waiting, also past the limit. Requires: a budget.
    void settle(std::size_t bytes);

   private:
    friend class ByteBudget;
    void swap(Lease& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      std::swap(overdraws_, other.overdraws_);
    }

    ByteBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
    bool overdraws_ = false;
  };

  ByteBudget(Executor& executor, std::size_t limit) : executor_(executor), limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  ~ByteBudget();

  // Waits until the lease has `bytes` more; the lease must not move meanwhile.
  auto grow(Lease& lease, std::size_t bytes) {
    struct Awaiter {
      ByteBudget& budget;
      Lease& lease;
      std::size_t bytes;
      bool await_ready() { return budget.grow_now(lease, bytes); }
      void await_suspend(std::coroutine_handle<> self) { budget.wait(lease, bytes, self); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this, lease, bytes};
  }
  // False: it would have to wait.
  bool grow_now(Lease& lease, std::size_t bytes);
  // Without waiting, also past the limit.
  Lease force(std::size_t bytes);

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }
  // Mostly free: there is no need to save memory.
  bool roomy() const { return used_ <= limit_ / 8; }
  // Users that can do with less memory should.
  bool crowded() const { return used_ > limit_ / 2; }
  std::size_t waiting() const { return fresh_.size() + holding_.size(); }
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Waiting {
    Lease* lease;
    std::size_t bytes;
    std::coroutine_handle<> self;
  };

  std::deque<Waiting>& queue_of(const Lease& lease) { return lease.bytes_ > 0 ? holding_ : fresh_; }
  void wait(Lease& lease, std::size_t bytes, std::coroutine_handle<> self);
  bool try_grow(Lease& lease, std::size_t bytes);
  void give(std::size_t bytes);
  void serve(std::deque<Waiting>& queue);

  Executor& executor_;
  const std::size_t limit_;
  std::size_t used_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool overdrawn_ = false;
  std::deque<Waiting> holding_;  // Waiters that hold bytes.
  std::deque<Waiting> fresh_;
};

}  // namespace moraine::kafka
