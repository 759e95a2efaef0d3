#include "client/transaction_life.h"

#include <fmt/format.h>

namespace moraine::client {

TransactionLife::TransactionLife(const Executor& executor, const table::TransactionId& id,
                                 std::chrono::milliseconds timeout)
    : executor_(executor), id_(id), timeout_(timeout), expires_(executor.now() + timeout) {}

Result<void> TransactionLife::use() {
  const Instant now = executor_.now();
  State state = state_.load();
  if (state == State::kOpen) {
    if (now <= expires_.load()) {
      expires_.store(now + timeout_);
      return {};
    }
    end(State::kExpired);
    state = state_.load();
  }
  return refusal(state);
}

Result<void> TransactionLife::use_by_scan() {
  if (state_.load() == State::kCommitted) return {};
  return use();
}

void TransactionLife::renew() {
  expires_.store(executor_.now() + timeout_);
}

Result<void> TransactionLife::commit() {
  TRY_VOID(use());
  if (!end(State::kCommitted)) return refusal(state_.load());
  return {};
}

void TransactionLife::fail_commit() {
  state_.store(State::kAborted);
}

void TransactionLife::abort() {
  end(State::kAborted);
}

bool TransactionLife::end(State state) {
  State open = State::kOpen;
  return state_.compare_exchange_strong(open, state);
}

std::unexpected<Error> TransactionLife::refusal(State state) const {
  if (state != State::kExpired) {
    return fail(Errc::kAborted, fmt::format("transaction {} is over", to_string(id_)));
  }
  return fail(Errc::kAborted, fmt::format("transaction {} was not used for {} ms and has expired",
                                          to_string(id_), timeout_.count()));
}

}  // namespace moraine::client
