// LocalTablets: the tablets of tables that run in this process.
//
// Threading  The node's executor.
#pragma once

#include <map>
#include <memory>

#include "transaction/tablet_calls.h"

namespace moraine {

class LocalTablets final : public TabletCalls {
 public:
  void add(TabletId id, std::shared_ptr<table::TableTablet> tablet) {
    tablets_[id] = std::move(tablet);
  }
  void remove(TabletId id) { tablets_.erase(id); }
  // Null: not here.
  std::shared_ptr<table::TableTablet> find(TabletId id) const;

  Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) override;
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                             Instant deadline) override;
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant deadline) override;
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant deadline) override;

 private:
  std::map<TabletId, std::shared_ptr<table::TableTablet>> tablets_;
};

}  // namespace moraine
