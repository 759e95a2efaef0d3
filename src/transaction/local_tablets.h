// LocalTablets: the tablets of tables that run in this process, on any of its lanes; and those of
// other nodes, if it knows how to reach these.
//
// Promise    As TabletCalls and TabletReads. A call runs on the tablet's lane and returns on the
//            caller's: a plain call when both are one. commit_prepared() and
//            abort_prepared() of a deleted tablet fail with kNotFound: nothing is prepared there
//            any more. Calls of other tablets that do not run here go to those of other nodes
//            (set_others()); without these, they fail with kNotHere.
// Threading  Calls: any lane. add(), remove(), set_deleted_check() and set_listener(), and
//            what they were given: the control lane. set_others(): before the first call. find():
//            any thread.
// Tests      tablet_forms_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "transaction/tablet_calls.h"
#include "transaction/tablet_reads.h"

namespace moraine {

class LocalTablets final : public TabletCalls, public TabletReads {
 public:
  struct Found {
    std::shared_ptr<table::TableTablet> tablet;  // Null: not in this process.
    Executor* home = nullptr;
  };

  explicit LocalTablets(Executor& control) : control_(control) {}
  LocalTablets(const LocalTablets&) = delete;
  LocalTablets& operator=(const LocalTablets&) = delete;

  // `home` is where it runs.
  void add(TabletId id, std::shared_ptr<table::TableTablet> tablet, Executor& home);
  void remove(TabletId id);
  // Called for tablets that do not run; returns true when the tablet was deleted. Unset: never.
  void set_deleted_check(std::function<bool(TabletId)> is_deleted) {
    is_deleted_ = std::move(is_deleted);
  }
  // Called with each tablet that is added, and after it was removed. Unset: never.
  using Listener = std::function<void(TabletId id, const std::shared_ptr<table::TableTablet>&)>;
  void set_listener(Listener added, Listener removed) {
    added_ = std::move(added);
    removed_ = std::move(removed);
  }
  // Where calls go of tablets that do not run here. Both outlive every call.
  void set_others(TabletCalls& calls, TabletReads& reads) {
    other_calls_ = &calls;
    other_reads_ = &reads;
  }
  Found find(TabletId id) const;

  Task<Result<Timestamp>> commit(TabletId tablet, TabletWrite write, Instant deadline) override;
  Task<Result<void>> prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                             Instant deadline) override;
  Task<Result<void>> commit_prepared(TabletId tablet, TransactionId id, Timestamp commit,
                                     Instant deadline) override;
  Task<Result<void>> abort_prepared(TabletId tablet, TransactionId id, Instant deadline) override;

  Task<Result<void>> lookup(TabletId tablet, SchemaPtr schema, table::LookupRequest request,
                            Rowset& rows, Instant deadline) override;
  Task<Result<table::OwnedVersionedRow>> lookup_versions(TabletId tablet, SchemaPtr schema,
                                                         std::string key, Timestamp timestamp,
                                                         Instant deadline) override;
  Task<Result<ScanPage>> scan(TabletId tablet, SchemaPtr schema, table::ScanRequest request,
                              Instant deadline) override;

 private:
  Task<Error> absent(TabletId tablet) const;

  Executor& control_;
  TabletCalls* other_calls_ = nullptr;
  TabletReads* other_reads_ = nullptr;
  // Used on the control lane.
  std::function<bool(TabletId)> is_deleted_;
  Listener added_;
  Listener removed_;
  mutable std::mutex mutex_;
  std::map<TabletId, Found> tablets_;  // Guarded by mutex_.
};

}  // namespace moraine
