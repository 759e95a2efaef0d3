// AppendTurn: which write may number rows at the end of an ordered table's tablet.
//
// Promise    One holder at a time; others get the turn in the order in which they asked. It passes
//            to the next from the executor's queue, never inside the call that releases it.
// Threading  The tablet's executor.
// Limits     kAppendsWaitingMax writes wait.
// Errors     take(): kOverloaded: too many wait; kAborted: the turn did not come in time, nothing
//            was changed; kUnavailable: closed.
// Tests      append_turn_test.cpp.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "base/result.h"
#include "io/event.h"

namespace moraine::table {

inline constexpr std::size_t kAppendsWaitingMax = 10'000;

class AppendTurn {
 public:
  // The turn, until it is destroyed or released. The AppendTurn outlives it.
  class Held {
   public:
    Held() = default;
    Held(Held&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Held& operator=(Held&& other) noexcept {
      if (this != &other) release();
      turn_ = std::exchange(other.turn_, nullptr);
      return *this;
    }
    ~Held() { release(); }
    explicit operator bool() const { return turn_ != nullptr; }
    void release() {
      if (AppendTurn* turn = std::exchange(turn_, nullptr)) turn->pass();
    }

   private:
    friend class AppendTurn;
    explicit Held(AppendTurn& turn) : turn_(&turn) {}
    AppendTurn* turn_ = nullptr;
  };

  explicit AppendTurn(Executor& executor) : executor_(executor) {}

  Task<Result<Held>> take(Instant deadline) {
    if (closed_) co_return closed_error();
    if (!std::exchange(taken_, true)) co_return Held(*this);
    if (waiting_.size() >= kAppendsWaitingMax) {
      co_return fail(Errc::kOverloaded, "too many writes wait to append to the tablet");
    }
    const auto waiter = std::make_shared<Waiter>(executor_);
    waiting_.push_back(waiter);
    co_await waiter->granted_or_closed.wait_until(deadline);
    if (waiter->granted) co_return Held(*this);
    std::erase(waiting_, waiter);
    if (closed_) co_return closed_error();
    co_return fail(Errc::kAborted,
                   "a transaction that appends to the same tablet is still undecided; retry");
  }
  // Of a transaction that held the turn in an earlier incarnation. Requires: nobody holds it.
  Held restore() {
    taken_ = true;
    return Held(*this);
  }
  // All that wait, and all later calls, fail.
  void close() {
    closed_ = true;
    for (const auto& waiter : std::exchange(waiting_, {})) waiter->granted_or_closed.notify_all();
  }

 private:
  struct Waiter {
    explicit Waiter(Executor& executor) : granted_or_closed(executor) {}
    Event granted_or_closed;
    bool granted = false;
  };

  static std::unexpected<Error> closed_error() {
    return fail(Errc::kUnavailable, "the tablet is stopping");
  }
  void pass() {
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    const std::shared_ptr<Waiter> next = std::move(waiting_.front());
    waiting_.pop_front();
    next->granted = true;
    next->granted_or_closed.notify_all();
  }

  Executor& executor_;
  std::deque<std::shared_ptr<Waiter>> waiting_;
  bool taken_ = false;
  bool closed_ = false;
};

}  // namespace moraine::table
