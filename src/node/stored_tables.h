// StoredTables: the tables of a node, stored in the scheme, their key ranges in table tablets.
//
//   scheme node (table_record.h)  ->  RunningTable  ->  a TabletHost for each tablet that is
//                                 mounted, which TabletReconciler runs
//
// Promise    A change is durable when it returns OK. Whenever the scheme's tablet starts, the
//            running tables follow its state, and unfinished transitions of tablets are continued.
//            Tablets that a reshard replaced are kept until no other refers to their blobs.
//            Static tables have one tablet, which stays frozen; they are not mounted.
// Invariants Changes run one at a time.
// Threading  The control lane. Waiting calls must have ended before it is destroyed.
// Limits     kTabletsPerTableMax; those of Scheme and SchemeChanges.
// Errors     kNotFound, kAlreadyExists, kInvalidArgument: the text says what is wrong; kReadOnly:
//            the state of the table does not allow this, the text has the state; kNotHere: the
//            scheme's tablet or that of a static table is not running here, nothing was changed;
//            kUnknownOutcome: the change may or may not have been made; kTimeout: it is stored, but
//            tablets have not followed within kTabletTimeout.
// Tests      stored_tables_test.cpp, stored_tables_ranges_test.cpp, stored_tables_reshard_test.cpp.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/tables.h"
#include "node/running_table.h"
#include "node/scheme_changes.h"
#include "node/scheme_host.h"
#include "node/unmounted_tablets.h"

namespace moraine {

inline constexpr Duration kTabletTimeout = 60s;  // Of a boot, of a flush.
inline constexpr Duration kRetiredPeriod = 5s;   // Between checks of replaced tablets.

struct StoredTablesOptions {
  std::vector<GroupId> groups;  // Assigned to new tablets in turn.
  LeaderOptions leader;
};

// Tablets [first, end) of a table.
struct TabletSpan {
  std::size_t first = 0;
  std::size_t end = 0;
};
// kInvalidArgument: the table has not got these tablets.
Result<TabletSpan> span_of(const TableRecord& record, TabletRange range);

class StoredTables final : public Tables {
 public:
  using TablePtr = std::shared_ptr<RunningTable>;
  using TabletPtr = RunningTable::TabletPtr;

  // `scheme`, `lanes` and `tablets` outlive the object; `scheme` has not started.
  StoredTables(World world, SchemeHost& scheme, std::vector<table::TableResources*> lanes,
               LocalTablets& tablets, table::AskCoordinator ask_coordinator,
               StoredTablesOptions options);

  Task<bool> wait_running(Instant deadline) {
    return scheme_.tablets().wait_running(NodeKind::kTable, deadline);
  }
  // The boot error of some tablet; names its table. nullopt: no boot failed.
  std::optional<Error> boot_error() const;
  // Call after the scheme's.
  Task<void> stop();
  void abandon();

  Task<Result<void>> create(std::string path, NewTable table) override;
  Task<Result<void>> remove(std::string path) override;
  Task<Result<void>> remove_directory(std::string path) override;
  Task<Result<void>> mount(std::string path, MountState state, TabletRange range = {}) override;
  Task<Result<void>> unmount(std::string path, TabletRange range = {}) override;
  Task<Result<void>> freeze(std::string path, TabletRange range = {}) override;
  Task<Result<void>> unfreeze(std::string path, TabletRange range = {}) override;
  Task<Result<void>> remount(std::string path, TabletRange range = {}) override;
  Task<Result<void>> remount(std::string path, TableMountOptions options) override;
  Task<Result<void>> set_options(std::string path, TableOptions options) override;
  Task<Result<void>> set_attributes(std::string path,
                                    std::map<std::string, std::string> named) override;
  Task<Result<void>> change_attributes(std::string path, TableAttributeChanges changes) override;
  Task<Result<void>> alter(std::string path, TableSchema schema) override;
  using Tables::reshard;
  Task<Result<void>> reshard(std::string path, TabletRange range, NewTablets tablets) override;
  Task<Result<void>> write_static(std::string path,
                                  std::shared_ptr<const table::StaticRows> rows) override;
  Task<Result<void>> rewrite_static(std::string path,
                                    std::shared_ptr<const table::StaticRows> rows) override;
  Task<Result<void>> write_batches(std::string path, std::shared_ptr<const TableSchema> schema,
                                   table::StaticBatches rows, table::StaticWrite how) override;
  Task<Result<void>> make_dynamic(std::string path) override;
  Task<Result<void>> trim(std::string path, std::size_t tablet, std::uint64_t rows) override;
  Task<Result<Timestamp>> flushed_before(std::string path) override;
  Task<Result<TabletPtr>> open_unmounted(std::string path, TabletId tablet) override;

  // Statistics of its tablets, in order. Unmounted tablets without known statistics are booted for
  // that; what cannot be found out is 0, and `error` says why.
  Task<Result<std::vector<table::TabletStatistics>>> figures(std::string path);
  Task<Result<TableDescription>> describe(std::string path) override;
  Task<Result<TableDescription>> inspect(std::string path) override;

  // For the tree (stored_tree.h), which stores tables itself: the checked record of a new one...
  struct Planned {
    std::uint32_t tablets = 0;
    RecordOf record;
    MountState state = MountState::kUnmounted;
  };
  Result<Planned> plan(const std::string& path, NewTable table) const;
  // ... and what it has stored: tables that are new, gone or at another path.
  void follow(const TreeEffects& effects);
  // The result of `body`, called when it is its turn among the changes of tables.
  template <class Body>
  std::invoke_result_t<Body&> as_change(Body body) {
    return changes_.run(std::move(body));
  }
  // In such a body: a static table has all its rows in tablets of its own. Others are left alone.
  Task<Result<void>> settle_locked(std::string path);

  // Null: no such table.
  TablePtr find(const std::string& path) const;
  std::vector<TablePtr> list() const;
  std::shared_ptr<TableHolder> holder(const std::string& path) const override;
  bool known() const override { return knows_all_.load(std::memory_order_acquire); }
  std::vector<std::string> paths() const override;

 private:
  using Change = std::function<Task<Result<void>>(TablePtr)>;

  // Runs one change of one table with the change lock held, as all functions named *_locked need.
  Task<Result<void>> change(std::string path, Change body);
  Task<Result<void>> create_locked(std::string path, NewTable table);
  Task<Result<void>> remove_locked(TablePtr table);
  Task<Result<void>> remove_directory_locked(std::string path);
  Task<Result<void>> move_to(TablePtr table, MountState state, TabletRange range);
  // The rest of move_to(), once `record` with the transitional states of `moved` is stored.
  Task<Result<void>> finish_move(TablePtr table, TableRecord record, std::vector<std::size_t> moved,
                                 MountState state);
  Task<Result<void>> mount_checked(TablePtr table, MountState state, TabletRange range);
  Task<Result<void>> mount_locked(TablePtr table, MountState state, TabletRange range);
  Task<Result<void>> unfreeze_locked(TablePtr table, TabletRange range);
  Task<Result<void>> write_static_locked(TablePtr table,
                                         std::shared_ptr<const table::StaticRows> rows,
                                         table::StaticWrite how);
  // The tablet of a static table of this schema.
  Task<Result<std::shared_ptr<LaneTable>>> static_tablet(TablePtr table, const TableSchema& schema);
  Task<Result<void>> make_dynamic_locked(TablePtr table);
  std::uint64_t now_ms() const;
  // The record with these options stored. Fails if they cannot be changed now.
  Result<TableRecord> with_options(const RunningTable& table, TableOptions options) const;
  // Fails if its stored options contradict each other.
  Result<void> check_mount(const RunningTable& table, TableRecord record) const;
  Task<Result<void>> replace_options(TablePtr table, TableOptions options);
  Task<Result<void>> change_kept(TablePtr table, TableAttributeChanges changes);
  Task<Result<void>> replace_attributes(TablePtr table, std::map<std::string, std::string> named);
  Task<Result<void>> apply_stored(TablePtr table, std::optional<TableMountOptions> options,
                                  TabletRange range);
  Task<Result<void>> replace_schema(TablePtr table, TableSchema schema);
  Task<Result<void>> replace_static_schema(TablePtr table, TableSchema schema);
  Task<Result<void>> reshard_locked(TablePtr table, TabletRange range, NewTablets tablets);
  // Of all new tablets.
  Task<Result<std::vector<std::string>>> new_pivots(TablePtr table, TabletSpan span,
                                                    NewTablets tablets);
  Task<Result<std::vector<std::string>>> choose_pivots(TablePtr table, TabletSpan span,
                                                       std::size_t tablets);
  Task<Result<void>> replace_tablets(TablePtr table, TabletSpan span,
                                     std::vector<std::string> pivots);
  Task<Result<void>> adopt_all(TablePtr table, TabletSpan span);
  Task<Result<void>> reshard_ordered(TablePtr table, TabletSpan span, NewTablets wanted);
  // Stores the record in the scheme with `tablets` new tablets, whose ids `fill` gets; then applies
  // it.
  using Fill = std::function<void(TableRecord&, TabletId first)>;
  Task<Result<void>> store(TablePtr table, TableRecord record, std::uint32_t tablets = 0,
                           Fill fill = nullptr, std::vector<TabletInfo> deleted = {});

  void follow(const Scheme& scheme);
  bool is_deleted(TabletId id) const;
  Result<TablePtr> adopt(const PathNode& node);
  void rename(const TablePtr& table, const std::string& path);
  void drop(const TablePtr& table);
  Task<void> finish_transitions(std::string path);
  Task<Result<void>> finish_transitions_locked(TablePtr table);
  Task<void> release_retired();
  Task<Result<void>> release_retired_locked(TablePtr table);
  // Null: there is no such table any more.
  void publish_holder(const std::string& path, std::shared_ptr<TableHolder> holder);
  TabletInfo place(TabletId id, std::size_t turn) const;
  Instant soon() const { return world_.executor.now() + kTabletTimeout; }

  World world_;
  SchemeHost& scheme_;
  const StoredTablesOptions options_;
  TabletTurns turns_{world_.executor};
  UnmountedTablets unmounted_{world_.executor, turns_};
  TableParts parts_;
  std::map<std::string, TablePtr> tables_;
  std::map<PathId, TablePtr> by_id_;
  mutable std::mutex holders_mutex_;
  std::map<std::string, std::shared_ptr<TableHolder>> holders_;  // Guarded by holders_mutex_.
  SchemeChanges changes_{world_.executor};
  bool watching_ = false;
  std::atomic<bool> knows_all_{false};  // All tables of the scheme are in tables_.
  TaskScope scope_;
};

// Pivots of the second and later tablets: strictly increasing, none empty.
Result<void> check_pivots(const std::vector<std::string>& pivots);
// For the later part of a change: "nothing was done" is no longer true of the whole.
Result<void> of_partial_change(Result<void> done);
// kInvalidArgument: neither kMounted nor kFrozen.
Result<void> check_mountable(MountState state);
// kInvalidArgument: a static table does not support this.
Result<void> check_dynamic(const RunningTable& table, std::string_view what);
// kReadOnly: some tablet is not unmounted; the text has the tablet and its state.
Result<void> check_unmounted(const RunningTable& table, std::string_view what);

}  // namespace moraine
