// TabletMemory: the memory stores and the lock history of one tablet, counted in the budgets of its
// node.
//
// Promise    When the node has many unflushed rows, its largest tablets are asked to flush; when it
//            has much lock history, the oldest is dropped. Transactions that began before dropped
//            history are aborted: LockHistory moves its horizon first.
// Threading  The tablet's executor. It may be destroyed on any thread.
// Tests      tablet_memory_test.cpp.
#pragma once

#include <functional>

#include "table/memory/memory_budget.h"
#include "table/tablet/store_set.h"
#include "table/tablet/write/lock_history.h"

namespace moraine::table {

class TabletMemory {
 public:
  // `flush` begins to flush the largest store; false: it cannot. Budgets may be null: no limit.
  TabletMemory(MemoryBudget* store_budget, MemoryBudget* history_budget, Executor& executor,
               StoreSet& stores, LockHistory& history, std::function<bool()> flush);

  // Called after changes, once for each write.
  void count();
  // A store was flushed, or can be flushed now.
  void flushed();
  // The node has as many unflushed rows as it may.
  bool full() const { return store_share_.full(); }

 private:
  MemoryBudget::Usage store_usage() const;
  void shrink_stores();
  void shrink_history();

  StoreSet& stores_;
  LockHistory& history_;
  const std::function<bool()> flush_;
  MemoryBudget::Share store_share_;
  MemoryBudget::Share history_share_;
};

}  // namespace moraine::table
