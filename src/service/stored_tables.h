// StoredTables: the tables of a node, kept in the scheme, their key ranges in table tablets.
//
//   scheme node (table_record.h)  ->  RunningTable  ->  a TabletHost for each tablet that is
//                                 mounted
//
// Promise    A change is durable when it is answered OK. What the scheme says is made true again
//            whenever its tablet starts: tablets that were on their way to another state go on.
//            Tablets that a reshard replaced are kept until no other refers to their blobs.
// Invariants Changes run one at a time.
// Threading  The world's executor. Calls that wait have ended before it goes away.
//            Static tables have one tablet, which stays frozen; they are not mounted or altered.
// Limits     kTableChangesMax waiting; kTabletsPerTableMax; those of Scheme.
// Errors     kNotFound, kAlreadyExists, kInvalidArgument: says what cannot be; kReadOnly: the table
//            is in a state in which this cannot be done, the text says which; kUnavailable: the
//            outcome is unknown.
// Tests      stored_tables_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/running_table.h"
#include "service/scheme_host.h"

namespace moraine {

inline constexpr std::size_t kTableChangesMax = 10'000;
inline constexpr std::size_t kTableBootsMax = 16;
inline constexpr Duration kTabletTimeout = 60s;  // To start, to flush.
inline constexpr Duration kRetiredPeriod = 5s;   // Between looks at tablets that were replaced.

struct StoredTablesOptions {
  std::vector<GroupId> groups;  // New tablets take them by turns.
  LeaderOptions leader;
  table::SeededBug bug{};
};

struct NewTable {
  TableSchema schema;
  TableOptions options;
  std::vector<std::string> pivots;  // Of the second tablet and those after it, encoded.
  bool dynamic = true;
  bool mounted = true;
};

class StoredTables {
 public:
  using TablePtr = std::shared_ptr<RunningTable>;

  // `scheme`, `resources` and `tablets` outlive it; `scheme` has not started.
  StoredTables(World world, SchemeHost& scheme, table::TableResources& resources,
               LocalTablets& tablets, table::AskCoordinator ask_coordinator,
               StoredTablesOptions options);

  Task<bool> wait_running(Instant deadline);
  // Of some tablet; names its table. nullopt: none failed to start.
  std::optional<Error> boot_error() const;
  Task<void> stop();
  void abandon();

  Task<Result<void>> create(std::string path, NewTable table);
  Task<Result<void>> remove(std::string path);
  // kConflict: it is not empty.
  Task<Result<void>> remove_directory(std::string path);
  // Each ends when every tablet of the table is in the state asked for.
  Task<Result<void>> mount(std::string path, bool frozen);
  Task<Result<void>> unmount(std::string path);
  Task<Result<void>> freeze(std::string path);
  Task<Result<void>> unfreeze(std::string path);
  // Tablets go on by the options that are stored; with `options`, these are stored first.
  Task<Result<void>> remount(std::string path);
  Task<Result<void>> remount(std::string path, TableMountOptions options);
  // Stored, and in force after the next mount or remount. in_memory_mode and atomicity change while
  // the table is unmounted.
  Task<Result<void>> set_options(std::string path, TableOptions options);
  // The same for those that are named (table_record.h).
  Task<Result<void>> set_attributes(std::string path, std::map<std::string, std::string> named);
  // Unmounted tables only.
  Task<Result<void>> alter(std::string path, TableSchema schema);
  Task<Result<void>> reshard(std::string path, std::vector<std::string> pivots);
  Task<Result<void>> reshard(std::string path, std::size_t tablets);

  // Rows that are made by the layout of the table's schema; all of them or none are added.
  Task<Result<void>> write_static(std::string path, std::shared_ptr<const table::StaticRows> rows);
  // A static table with unique keys becomes a dynamic one, mounted, with its rows.
  Task<Result<void>> make_dynamic(std::string path);

  // Of its tablets, in order. Those that are not mounted are looked into when nothing is known of
  // them; what cannot be known is 0, and `error` says why.
  Task<Result<std::vector<table::TabletStatistics>>> figures(std::string path);

  // Null: no such table.
  TablePtr find(const std::string& path) const;
  std::vector<TablePtr> list() const;

 private:
  using Change = std::function<Task<Result<void>>(TablePtr)>;

  // One change of one table, alone.
  Task<Result<void>> change(std::string path, Change body);
  Task<Result<void>> alone(std::function<Task<Result<void>>()> body);
  Task<Result<void>> create_alone(std::string path, NewTable table);
  Task<Result<void>> remove_alone(TablePtr table);
  Task<Result<void>> remove_directory_alone(std::string path);
  Task<Result<void>> move_to(TablePtr table, MountState state);
  Task<Result<void>> mount_checked(TablePtr table, MountState state);
  Task<Result<void>> mount_alone(TablePtr table, MountState state);
  Task<Result<void>> unfreeze_alone(TablePtr table);
  Task<Result<void>> write_static_alone(TablePtr table,
                                        std::shared_ptr<const table::StaticRows> rows);
  Task<Result<void>> make_dynamic_alone(TablePtr table);
  std::uint64_t now_ms() const;
  // The record with these options stored. Fails with what contradicts itself, or cannot change now.
  Result<TableRecord> with_options(const RunningTable& table, TableOptions options) const;
  Task<Result<void>> replace_options(TablePtr table, TableOptions options);
  Task<Result<void>> replace_attributes(TablePtr table, std::map<std::string, std::string> named);
  Task<Result<void>> apply_stored(TablePtr table, std::optional<TableMountOptions> options);
  Task<Result<void>> replace_schema(TablePtr table, TableSchema schema);
  Task<Result<void>> reshard_alone(TablePtr table, std::vector<std::string> pivots);
  Task<Result<void>> reshard_by_count(TablePtr table, std::size_t tablets);
  Task<Result<std::vector<std::string>>> choose_pivots(TablePtr table, std::size_t tablets);
  Task<Result<void>> adopt_all(TablePtr table);
  // The record into the scheme, with so many new tablets whose ids `fill` is told, then made true.
  using Fill = std::function<void(TableRecord&, TabletId first)>;
  Task<Result<void>> store(TablePtr table, TableRecord record, std::uint32_t tablets = 0,
                           Fill fill = nullptr, std::vector<TabletInfo> doomed = {});

  void follow(const Scheme& scheme);
  bool is_gone(TabletId id) const;
  Result<TablePtr> adopt(const PathNode& node);
  void drop(const TablePtr& table);
  Task<void> finish_transitions(std::string path);
  Task<void> let_go_of_retired();
  Task<Result<void>> let_go_alone(TablePtr table);
  TabletInfo place(TabletId id, std::size_t turn) const;
  Instant soon() const { return world_.executor.now() + kTabletTimeout; }

  World world_;
  SchemeHost& scheme_;
  const StoredTablesOptions options_;
  Semaphore boots_{kTableBootsMax};
  TableParts parts_;
  std::map<std::string, TablePtr> tables_;
  Semaphore changes_{1};
  Waiters stopping_{world_.executor};
  bool watching_ = false;
  bool knows_all_ = false;  // All tables of the scheme are in tables_.
  TaskScope scope_;
};

// Pivots of the second tablet and those after it: strictly increasing, none empty.
Result<void> check_pivots(const std::vector<std::string>& pivots);
// kInvalidArgument: it is a static one, with which this cannot be done.
Result<void> check_dynamic(const RunningTable& table, std::string_view what);
// kReadOnly: names a tablet and its state.
Result<void> check_unmounted(const RunningTable& table, std::string_view what);

}  // namespace moraine
