// TabletCalls: how transactions reach the tablets of tables and their coordinators, wherever they
// run.
//
// Promise    Every call may be repeated. kUnknownOutcome: the call may have been executed. Other
//            errors of commit() and prepare(): nothing of the transaction was stored. kNotHere: the
//            tablet does not run where it was called, and this call did nothing; of an earlier call
//            that is repeated it says nothing.
// Threading  The caller's executor.
#pragma once

#include <vector>

#include "table/tablet/table_tablet.h"

namespace moraine {

using table::TabletWrite;
using table::TransactionId;
using table::TransactionOutcome;

class TabletCalls {
 public:
  virtual ~TabletCalls() = default;
  virtual Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) = 0;
  virtual Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                                     Instant deadline) = 0;
  virtual Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                             Instant deadline) = 0;
  virtual Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id,
                                            Instant deadline) = 0;
};

}  // namespace moraine
