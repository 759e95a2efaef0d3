// TransactionLife: whether a transaction may still be used; shared with its scans.
//
// Promise    Once it has ended, every use fails with the same text. An end is final, except that a
//            commit may still turn out to have failed.
// Threading  Any thread.
// Errors     kAborted: the transaction is over, or was not used for longer than its timeout.
// Tests      embed/: transaction_timeout_test.cpp, transaction_scan_test.cpp.
#pragma once

#include <atomic>
#include <chrono>

#include "base/result.h"
#include "io/executor.h"
#include "table/tablet/transaction_id.h"

namespace moraine::client {

class TransactionLife {
 public:
  // Time is the executor's, which outlives it.
  TransactionLife(const Executor& executor, const table::TransactionId& id,
                  std::chrono::milliseconds timeout);

  const table::TransactionId& id() const { return id_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  // Marks a use: the timeout starts again.
  Result<void> use();
  // The same for a step of a scan, which is still permitted after a commit.
  Result<void> use_by_scan();
  // Restarts the timeout after a long step, without checking whether it has expired.
  void renew();

  Result<void> commit();  // The last use. The outcome is not known yet.
  void fail_commit();
  void abort();  // No effect if it is over.

 private:
  enum class State : std::uint8_t { kOpen, kCommitted, kAborted, kExpired };

  // False: it had already ended.
  bool end(State state);
  std::unexpected<Error> refusal(State state) const;

  const Executor& executor_;
  const table::TransactionId id_;
  const std::chrono::milliseconds timeout_;
  std::atomic<State> state_{State::kOpen};
  std::atomic<Instant> expires_;
};

}  // namespace moraine::client
