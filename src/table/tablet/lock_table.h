// LockTable: which rows of a tablet are locked by whom, and which were changed lately.
//
// The rules, for a transaction that started at S and wants lock L of a row in some mode (the
// primary lock stands for all locks of the row; who wants a group's lock is checked against the
// primary too):
//   any                  fails if L was taken exclusively and committed after S, or is held
//                        exclusively now
//   any but shared write fails if a shared write was committed after S; read locks also if one is
//                        held now
//   exclusive            fails if a read lock or a shared write is held now, or a strong read lock
//                        was committed after S
//   shared write         fails if a read lock is held now, or a strong one was committed after S
//
// Promise    A conflict is reported with the row, what the other transaction did or holds, the lock
//            group if it is about one, and that transaction, of several that share the lock the
//            last. A transaction that started below the horizon fails: what it could conflict with
//            may be forgotten.
// Invariants What is forgotten has moved the horizon above it first.
// Threading  The tablet's executor.
// Limits     Of what was changed: lock_history.h.
// Tests      lock_table_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/tablet/lock_history.h"
#include "table/tablet/transaction_id.h"

namespace moraine::table {

class LockTable {
 public:
  explicit LockTable(Timestamp horizon = kNullTimestamp,
                     std::size_t history_batch_rows = kHistoryBatchRows);
  ~LockTable();

  // What people call the locks, by their numbers; the first, the primary one, has no name.
  void name_groups(std::vector<std::string> names);

  // Takes the locks of all changes, or none. kAborted: why.
  Result<void> acquire(const TransactionId& id, Timestamp start,
                       std::span<const RowChange> changes);
  // Lets them go. With a commit timestamp: what was changed then is remembered.
  void release(const TransactionId& id, std::span<const RowChange> changes,
               std::optional<Timestamp> commit);
  // Whoever holds now what these locks cannot be had with. nullopt: nobody, or something that was
  // committed since the start is in the way as well.
  struct Held {
    std::size_t change = 0;
    TransactionId owner;  // All zeros: it shares the lock, and is not known.
  };
  std::optional<Held> held_against(Timestamp start, std::span<const RowChange> changes) const;
  // A change of an earlier incarnation, as the log tells it.
  void remember(const RowChange& change, Timestamp commit, const TransactionId& id);
  // Forgets what was committed before `before`.
  void forget(Timestamp before);
  // Forgets all history and leaves the horizon: a seeded bug.
  void lose_history();

  Timestamp horizon() const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::table
