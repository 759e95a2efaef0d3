// LockTable: which transactions hold locks of a tablet's rows, and which rows were changed
// recently.
//
// The rules, for a transaction that started at S and requests lock L of a row in some mode (the
// primary lock represents all locks of the row; a request for a group's lock is checked against the
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
//            group if there is one, and that transaction; of several that share the lock, the last.
//            A transaction that started below the horizon fails: what it could conflict with may
//            have been dropped.
// Invariants The horizon is moved above history before it is dropped.
// Threading  The tablet's executor.
// Limits     Of history: lock_history.h.
// Tests      lock_table_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/tablet/transaction_id.h"
#include "table/tablet/write/lock_history.h"

namespace moraine::table {

class LockTable {
 public:
  explicit LockTable(Timestamp horizon = kNullTimestamp,
                     std::size_t history_batch_rows = kHistoryBatchRows);
  ~LockTable();

  // The names of the locks, by number; the first, the primary one, has no name.
  void name_groups(std::vector<std::string> names);

  // Takes the locks of all changes, or none. kAborted: the reason.
  Result<void> acquire(const TransactionId& id, Timestamp start,
                       std::span<const RowChange> changes);
  // Releases them. With a commit timestamp: records what was changed.
  void release(const TransactionId& id, std::span<const RowChange> changes,
               std::optional<Timestamp> commit);
  // The current holder of a lock that conflicts with these changes. nullopt: none, or something
  // committed since the start conflicts as well.
  struct Held {
    std::size_t change = 0;
    TransactionId owner;  // All zeros: it shares the lock, and is unknown.
  };
  std::optional<Held> conflicting_holder(Timestamp start, std::span<const RowChange> changes) const;
  // A change of an earlier incarnation, from the log.
  void remember(const RowChange& change, Timestamp commit, const TransactionId& id);
  // Drops what was committed before `before`.
  void forget(Timestamp before);
  // As LockHistory::expire(). While no lock is held, the memory for held locks is freed too.
  void expire(Timestamp before);
  LockHistory& history();
  const LockHistory& history() const;
  // Drops all history without moving the horizon: a seeded bug.
  void drop_history();

  Timestamp horizon() const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::table
