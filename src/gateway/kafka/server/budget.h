// ByteBudget: memory that connections share.
//
// Promise    Those who wait are served in order; those who hold a part of what they need come
//            before those who hold nothing, and one of them at a time may overdraw: it can always
//            finish, so holders of parts never wait for each other for ever.
// Threading  The executor. Those who wait are resumed by it, not inside a call.
// Limits     At most `limit` bytes are out, what the one that overdraws takes, and what was forced.
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
  // Bytes out of a budget; given back when it goes.
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
    // Null: of none.
    ByteBudget* budget() const { return budget_; }
    void release();
    // Makes it `bytes`, without waiting, whatever is left. Requires: a budget.
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

  // Waits until there are `bytes` more for the lease, which stays where it is meanwhile.
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
  // Without waiting, whatever is left.
  Lease force(std::size_t bytes);

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }
  // Hardly used: nobody need be thrifty.
  bool roomy() const { return used_ <= limit_ / 8; }
  // Those who can do with less should.
  bool crowded() const { return used_ > limit_ / 2; }
  std::size_t waiting() const { return fresh_.size() + begun_.size(); }
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  struct Waiting {
    Lease* lease;
    std::size_t bytes;
    std::coroutine_handle<> self;
  };

  std::deque<Waiting>& queue_of(const Lease& lease) { return lease.bytes_ > 0 ? begun_ : fresh_; }
  void wait(Lease& lease, std::size_t bytes, std::coroutine_handle<> self);
  bool try_grow(Lease& lease, std::size_t bytes);
  void give(std::size_t bytes);
  void serve(std::deque<Waiting>& queue);

  Executor& executor_;
  const std::size_t limit_;
  std::size_t used_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool overdrawn_ = false;
  std::deque<Waiting> begun_;  // Hold something.
  std::deque<Waiting> fresh_;
};

}  // namespace moraine::kafka
