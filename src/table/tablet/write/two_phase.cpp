// The participant's side of two-phase commit.

#include <fmt/format.h>

#include "table/tablet/table_impl.h"

namespace moraine::table {
namespace {

std::unexpected<Error> is_aborted(const TransactionId& id) {
  return fail(Errc::kAborted, fmt::format("transaction {} was aborted", to_string(id)));
}

}  // namespace

// The outcome, if it has ended; as the answer to a request to commit or to abort.
std::optional<Result<void>> TableTablet::Impl::known_outcome(const TransactionId& id,
                                                             bool wants_commit) const {
  const std::optional<Timestamp> commit = state_.finished().outcome(id);
  if (!commit) return std::nullopt;
  const bool committed = *commit != 0;
  if (committed == wants_commit) return Result<void>();
  if (!committed) return is_aborted(id);
  return fail(Errc::kConflict,
              fmt::format("transaction {} was committed at {}", to_string(id), *commit));
}

// Waits for the current step of the transaction: its prepare or its end.
Task<void> TableTablet::Impl::follow(std::shared_ptr<PreparedTransaction> transaction) {
  co_await transaction->step_ended.wait();
}

void TableTablet::Impl::notify_step_ended(PreparedTransaction& transaction) {
  transaction.step_ended.notify_all();
  writes_changed_.notify_all();
}

Task<Result<void>> TableTablet::Impl::prepare(TabletWrite write, TabletId coordinator) {
  const TransactionId id = write.transaction;
  const Instant until = executor().now() + kOutcomeWaitMax;
  drop_locks(write);
  bool space_checked = false;
  if (ordered()) {
    CO_TRY_VOID(check_append(write));
  }
  Append append;
  std::shared_ptr<PreparedTransaction> transaction;
  while (!transaction) {
    if (auto known = known_outcome(id, true)) co_return std::move(*known);
    if (const auto found = prepared_.find(id); found != prepared_.end()) {
      if (found->second->durable) co_return Result<void>();
      co_await follow(found->second);
      if (leader_->ended()) co_return std::unexpected(*leader_->ended());
      continue;
    }
    if (leader_->colour() >= kColourToStop && !std::exchange(space_checked, true)) {
      CO_TRY_VOID(co_await check_space(write.changes));
      continue;
    }
    if (ordered() && !append.turn) {
      CO_TRY(append, co_await begin_append(executor().now() + kTurnWaitMax));
      continue;
    }
    auto begun = begin_prepare(write, coordinator, append);
    if (!begun) {
      const auto other =
          begun.error().code == Errc::kAborted ? blocking_transaction(write) : nullptr;
      const bool again = other && executor().now() < until && co_await fetch_outcome(other);
      if (again) continue;
      if (begun.error().code == Errc::kAborted) ++conflicts_;
      co_return std::unexpected(std::move(begun).error());
    }
    transaction = std::move(*begun);
  }
  if (has_bug(SeededBug::kCommitBeforePrepareDurable)) {
    scope_.spawn(log_prepare_unawaited(std::move(transaction)));
    co_return Result<void>();
  }
  co_return co_await log_prepare(std::move(transaction));
}

Result<std::shared_ptr<PreparedTransaction>> TableTablet::Impl::begin_prepare(TabletWrite& write,
                                                                              TabletId coordinator,
                                                                              Append& append) {
  TRY_VOID(may_write());
  TRY_VOID(check_schema(write));
  TRY_VOID(check_write(write));
  TRY_VOID(check_row_sizes(write.changes));
  const bool forgotten = write.commit_requested() <= state_.finished().horizon();
  if (forgotten || FinishedTransactions::too_old(write.start, state_.last_commit())) {
    return fail(Errc::kAborted,
                fmt::format("transaction {} began at {} and its commit was requested at {}, which "
                            "is too long ago",
                            to_string(write.transaction), write.start, write.commit_requested()));
  }
  TRY_VOID(acquire(write.transaction, write.start, write.changes));
  auto transaction = std::make_shared<PreparedTransaction>(executor());
  if (ordered()) {
    append.end = filled_->place_rows(write.changes, tablet_index_, end_);
    transaction->append = std::move(append);
  }
  transaction->promised = promise(write.changes, write.start, true);
  transaction->record = std::make_shared<PrepareRecord>();
  PrepareRecord& record = *transaction->record;
  record.store = transaction->promised.store;
  record.transaction = write.transaction;
  record.start = write.start;
  record.coordinator = coordinator;
  record.changes = std::move(write.changes);
  transaction->asked = executor().now();
  prepared_[record.transaction] = transaction;
  return transaction;
}

Task<Result<void>> TableTablet::Impl::log_prepare(
    std::shared_ptr<PreparedTransaction> transaction) {
  ++in_flight_;
  const PrepareRecord& prepare = *transaction->record;
  const auto parts = co_await log_parts(prepare.store, prepare.transaction, prepare.changes);
  Result<void> written;
  if (!parts) {
    written = std::unexpected(parts.error());
  } else {
    Slice body = *parts == 0 ? encode_prepare(prepare) : encode_prepare_of_parts(prepare, *parts);
    written = co_await log(std::move(body),
                           [this, transaction = transaction.get()](const std::vector<BlobId>&) {
                             const PrepareRecord& record = *transaction->record;
                             state_.parts_ended(record.transaction);
                             state_.logged(record.store, leader_->position(), record.changes);
                             state_.prepared(transaction->record);
                             transaction->durable = true;
                           });
  }
  write_ended();
  if (!written && !leader_->ended()) {
    state_.parts_ended(prepare.transaction);
    prepared_.erase(transaction->record->transaction);
    roll_back(transaction->promised, transaction->record->transaction,
              transaction->record->changes);
    transaction->append.turn.release();
  }
  notify_step_ended(*transaction);
  co_return written;
}

Task<void> TableTablet::Impl::log_prepare_unawaited(
    std::shared_ptr<PreparedTransaction> transaction) {
  const auto written = co_await log_prepare(std::move(transaction));
  (void)written;
}

Task<Result<void>> TableTablet::Impl::commit_prepared(TransactionId id, Timestamp commit) {
  for (;;) {
    if (auto known = known_outcome(id, true)) co_return std::move(*known);
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    const auto found = prepared_.find(id);
    if (found == prepared_.end()) {
      // A commit is only sent for what was prepared: it was committed and forgotten.
      if (FinishedTransactions::too_old(commit, state_.last_commit())) co_return Result<void>();
      co_return fail(Errc::kNotFound, fmt::format("transaction {} is not prepared in tablet {}",
                                                  to_string(id), info_.id.value));
    }
    const std::shared_ptr<PreparedTransaction> transaction = found->second;
    if (commit <= transaction->record->start || commit > kMaxTimestamp) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("transaction {} began at {}; it cannot be committed at {}",
                                 to_string(id), transaction->record->start, commit));
    }
    if (transaction->durable && !transaction->deciding) {
      co_return co_await decide(transaction, commit);
    }
    co_await follow(transaction);
  }
}

Task<Result<void>> TableTablet::Impl::abort_prepared(TransactionId id) {
  for (;;) {
    if (auto known = known_outcome(id, false)) co_return std::move(*known);
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    const auto found = prepared_.find(id);
    if (found == prepared_.end()) {
      // Its prepare may still arrive. Should this record be forgotten, the coordinator is asked.
      state_.finished().add({id, state_.last_commit(), 0});
      co_return Result<void>();
    }
    const std::shared_ptr<PreparedTransaction> transaction = found->second;
    if (transaction->durable && !transaction->deciding) co_return co_await decide(transaction, 0);
    co_await follow(transaction);
  }
}

// Commit 0: abort.
Task<Result<void>> TableTablet::Impl::decide(std::shared_ptr<PreparedTransaction> transaction,
                                             Timestamp commit) {
  transaction->deciding = true;
  const TransactionId id = transaction->record->transaction;
  const Slice body = commit != 0 ? encode(CommitRecord{id, commit}) : encode(AbortRecord{id});
  const auto written = co_await log(body, [&, this](const std::vector<BlobId>&) {
    prepared_.erase(id);
    state_.finished(id, commit);
    if (ordered() && commit != 0) {
      filled_->stamp(transaction->record->changes, commit);
      end_ = transaction->append.end;
    }
    transaction->append.turn.release();
    if (commit != 0) {
      apply(transaction->promised, id, transaction->record->changes, commit);
    } else {
      roll_back(transaction->promised, id, transaction->record->changes);
    }
  });
  transaction->deciding = false;
  notify_step_ended(*transaction);
  co_return written;
}

void TableTablet::Impl::ask_coordinators() {
  if (!options_.ask_coordinator) return;
  const Instant now = executor().now();
  std::vector<std::shared_ptr<PrepareRecord>> due;
  for (const auto& [id, transaction] : prepared_) {
    if (!transaction->durable || transaction->deciding) continue;
    if (now - transaction->asked < options_.ask_after) continue;
    transaction->asked = now;
    due.push_back(transaction->record);
  }
  for (const auto& record : due) scope_.spawn(ask(record->transaction, record->coordinator));
}

Task<void> TableTablet::Impl::ask(TransactionId id, TabletId coordinator) {
  const auto outcome = co_await options_.ask_coordinator(coordinator, id);
  if (!outcome || scope_.closed()) co_return;
  Result<void> ended_now;
  if (outcome->kind == TransactionOutcome::Kind::kCommitted) {
    ended_now = co_await commit_prepared(id, outcome->commit);
  } else if (outcome->kind == TransactionOutcome::Kind::kAborted) {
    ended_now = co_await abort_prepared(id);
  }
  (void)ended_now;  // It is asked about again.
}

}  // namespace moraine::table
