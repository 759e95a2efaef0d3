// TransactionLife: whether a transaction may still be used; scans that it gave know it too.
//
// Promise    Once it has ended it says so every time, in the same words. An end is for good, but
//            that a commit may turn out to have failed.
// Threading  Any thread.
// Errors     kAborted: it is over, or was left alone for longer than its timeout.
// Tests      transaction_timeout_test.cpp, transaction_scan_test.cpp.
#pragma once

#include <atomic>
#include <chrono>

#include "base/result.h"
#include "table/tablet/transaction_id.h"

namespace moraine::embed {

class TransactionLife {
 public:
  TransactionLife(const table::TransactionId& id, std::chrono::milliseconds timeout);

  const table::TransactionId& id() const { return id_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  // It is used: its timeout starts anew.
  Result<void> use();
  // The same for a step of a scan, which goes on after a commit.
  Result<void> use_by_scan();
  // A step that was long has ended; whether it was in time is not asked.
  void renew();

  Result<void> commit();  // It is used last. The outcome is not known yet.
  void fail_commit();
  void abort();  // Unless it is over.

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { kOpen, kCommitted, kAborted, kExpired };

  // False: it has ended already.
  bool end(State state);
  std::unexpected<Error> refusal(State state) const;

  const table::TransactionId id_;
  const std::chrono::milliseconds timeout_;
  std::atomic<State> state_{State::kOpen};
  std::atomic<Clock::time_point> expires_;
};

}  // namespace moraine::embed
