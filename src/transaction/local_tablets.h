// LocalTablets: the tablets of tables that run in this process.
//
// Promise    commit_prepared() and abort_prepared() of a deleted tablet fail with kNotFound:
//            nothing is prepared there any more. Calls of other tablets that do not run fail with
//            kNotHere.
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
  // Called for tablets that do not run; returns true when the tablet was deleted. Unset: never.
  void set_deleted_check(std::function<bool(TabletId)> is_deleted) {
    is_deleted_ = std::move(is_deleted);
  }
  // Null: not in this process.
  std::shared_ptr<table::TableTablet> find(TabletId id) const;

  Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) override;
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                             Instant deadline) override;
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant deadline) override;
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant deadline) override;

 private:
  std::unexpected<Error> absent(TabletId tablet) const;

  std::function<bool(TabletId)> is_deleted_;
  std::map<TabletId, std::shared_ptr<table::TableTablet>> tablets_;
};

}  // namespace moraine
