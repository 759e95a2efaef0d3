// A write that conflicts with the locks of a prepared transaction asks for that transaction's
// outcome.
//
// A client's commit returns when the coordinator has decided, before the participants know. The
// client's next write may arrive first, and must not fail because of its own earlier write. So a
// write that began after a prepared transaction asks that transaction's coordinator before it
// fails: a decided outcome is applied at once, and the write continues or conflicts accordingly.
//
// Writes never wait for an undecided transaction, so two that are prepared with conflicting locks
// cannot wait for each other. A coordinator that does not answer is asked again, for up to
// kOutcomeWaitMax.

#include <algorithm>

#include "table/tablet/table_impl.h"

namespace moraine::table {
namespace {

constexpr Duration kRetryPause = 50ms;

bool changes_key(const PrepareRecord& record, const std::string& key) {
  const auto found = std::ranges::lower_bound(record.changes, key, {}, &RowChange::key);
  return found != record.changes.end() && found->key == key;
}

}  // namespace

// A prepared transaction that began before the write and holds a lock that it needs.
std::shared_ptr<PreparedTransaction> TableTablet::Impl::blocking_transaction(
    const TabletWrite& write) {
  if (!options_.ask_coordinator || settings_.atomicity == Atomicity::kNone) return nullptr;
  const auto held = state_.locks().conflicting_holder(write.start, write.changes);
  if (!held) return nullptr;
  const auto may_be_decided = [&](const PreparedTransaction& other) {
    return other.durable && other.record->start < write.start;
  };
  if (held->owner != TransactionId{}) {
    const auto found = prepared_.find(held->owner);
    const bool one = found != prepared_.end() && may_be_decided(*found->second);
    return one ? found->second : nullptr;
  }
  for (const auto& [id, other] : prepared_) {
    if (!may_be_decided(*other)) continue;
    if (changes_key(*other->record, write.changes[held->change].key)) return other;
  }
  return nullptr;
}

// True: its locks were released, or retry. False: it is undecided.
Task<bool> TableTablet::Impl::fetch_outcome(std::shared_ptr<PreparedTransaction> other) {
  if (other->deciding) {
    co_await follow(other);
    co_return true;
  }
  const TransactionId id = other->record->transaction;
  const auto outcome = co_await options_.ask_coordinator(other->record->coordinator, id);
  if (!outcome) {
    co_await sleep_for(executor(), kRetryPause);
    co_return true;
  }
  Result<void> ended_now;
  switch (outcome->kind) {
    case TransactionOutcome::Kind::kUndecided: co_return false;
    case TransactionOutcome::Kind::kCommitted:
      ended_now = co_await commit_prepared(id, outcome->commit);
      break;
    case TransactionOutcome::Kind::kAborted: ended_now = co_await abort_prepared(id); break;
  }
  // The incarnation has ended, another request was first, or the log's queue is full for now.
  if (!ended_now) co_await sleep_for(executor(), kRetryPause);
  co_return true;
}

// `conflict`: the error of the first attempt.
Task<Result<void>> TableTablet::Impl::acquire_later(const TabletWrite& write, Error conflict) {
  const Instant until = executor().now() + kOutcomeWaitMax;
  for (;;) {
    const auto other = blocking_transaction(write);
    const bool again = other && executor().now() < until && co_await fetch_outcome(other);
    if (!again) {
      ++conflicts_;
      co_return std::unexpected(std::move(conflict));
    }
    CO_TRY_VOID(may_write());
    auto taken = acquire(write.transaction, write.start, write.changes);
    if (taken) co_return Result<void>();
    conflict = std::move(taken).error();
  }
}

}  // namespace moraine::table
