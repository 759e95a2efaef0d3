// LocalTablets: the tablets of tables that run in this process.
//
// Promise    Whoever is told to commit or to abort and is gone for good answers kNotFound: nothing
//            is prepared there any more. Others that do not run answer kReadOnly.
// Threading  The node's executor.
#pragma once

#include <functional>
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
  // Asked of tablets that do not run: true of those that never will again. None: never.
  void tell_gone_by(std::function<bool(TabletId)> is_gone) { is_gone_ = std::move(is_gone); }
  // Null: not here.
  std::shared_ptr<table::TableTablet> find(TabletId id) const;

  Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) override;
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                             Instant deadline) override;
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant deadline) override;
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant deadline) override;

 private:
  std::unexpected<Error> absent(TabletId tablet) const;

  std::function<bool(TabletId)> is_gone_;
  std::map<TabletId, std::shared_ptr<table::TableTablet>> tablets_;
};

}  // namespace moraine
