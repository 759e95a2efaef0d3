// A write that meets the locks of a prepared transaction asks how that one ended.
//
// A client hears of its commit when the coordinator has decided, before the participants do. What
// it writes next may be there first, and is not to fail by its own earlier write. So whoever began
// after a prepared transaction did asks its coordinator before it gives up: what is decided is
// carried out at once, and the write goes on or conflicts by the outcome.
//
// Nobody waits for a transaction that is not decided: two that are prepared in each other's way
// cannot wait for each other. A coordinator that does not answer is asked again, for
// kOutcomeWaitMax.

#include <algorithm>

#include "table/tablet/table_impl.h"

namespace moraine::table {
namespace {

constexpr Duration kAskAgainPause = 50ms;

bool changes_key(const PrepareRecord& record, const std::string& key) {
  const auto found = std::ranges::lower_bound(record.changes, key, {}, &RowChange::key);
  return found != record.changes.end() && found->key == key;
}

}  // namespace

// A prepared transaction that began before the write did and has a lock that it needs.
std::shared_ptr<PreparedTransaction> TableTablet::Impl::in_the_way(const TabletWrite& write) {
  if (!options_.ask_coordinator || settings_.atomicity == Atomicity::kNone) return nullptr;
  const auto held = state_.locks().held_against(write.start, write.changes);
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

// True: its locks are gone, or the question is to be asked again. False: it is not decided.
Task<bool> TableTablet::Impl::hear_outcome(std::shared_ptr<PreparedTransaction> other) {
  if (other->deciding) {
    co_await follow(other);
    co_return true;
  }
  const TransactionId id = other->record->transaction;
  const auto outcome = co_await options_.ask_coordinator(other->record->coordinator, id);
  if (!outcome) {
    co_await sleep_for(executor(), kAskAgainPause);
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
  // The incarnation has ended, somebody else was quicker, or the log's queue is full for now.
  if (!ended_now) co_await sleep_for(executor(), kAskAgainPause);
  co_return true;
}

// `conflict` is what the first try has met.
Task<Result<void>> TableTablet::Impl::acquire_later(const TabletWrite& write, Error conflict) {
  const Instant until = executor().now() + kOutcomeWaitMax;
  for (;;) {
    const auto other = in_the_way(write);
    const bool again = other && executor().now() < until && co_await hear_outcome(other);
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
