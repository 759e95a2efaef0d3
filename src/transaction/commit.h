// Committing what a transaction has gathered.
//
// Promise    One tablet: one entry of its log. Several: two-phase commit by a coordinator. Returns
//            the commit timestamp. kUnknownOutcome: it may be committed; without atomicity, some of
//            its rows may be. Every other error: nothing was changed. An empty commit is OK at
//            once.
// Threading  Any lane: tablets are called on their lanes (CommitParts).
// Tests      commit_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transaction/coordinator.h"
#include "transaction/open_table.h"
#include "transaction/tablet_calls.h"

namespace moraine {

struct TableChanges {
  std::shared_ptr<const OpenTable> table;
  std::vector<table::RowChange> changes;  // By ascending key, each key once.
};

// For commits on one lane.
struct CommitParts {
  TabletCalls& calls;
  TimestampSource& timestamps;
  // Commits by a coordinator. kAborted: none runs now.
  std::function<Task<Result<Timestamp>>(std::vector<Participant>)> commit_many;
};

struct GatheredTransaction {
  TransactionId id;
  Timestamp start = 0;
  Atomicity atomicity = Atomicity::kFull;
  std::vector<TableChanges> tables;
};

// The writes by tablet. kInvalidArgument: a table of another atomicity; kReadOnly: not mounted;
// kNotHere: mounted, but its tablet does not run here.
Result<std::vector<Participant>> split_by_tablet(GatheredTransaction transaction);

Task<Result<Timestamp>> commit_transaction(CommitParts parts, GatheredTransaction transaction,
                                           Instant deadline);

}  // namespace moraine
