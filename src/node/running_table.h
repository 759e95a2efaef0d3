// RunningTable: one table of this node: its record, its running tablets, and the published view for
// readers.
//
// Promise    Every tablet whose state in the record is mounted, frozen, or a transition from these,
//            is given to TabletReconciler to run. Each start and end of a tablet is published at
//            once, and so is why one does not start, and that another node runs it.
// Threading  The control lane; holder() is for any thread.
// Tests      stored_tables_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/lane_table.h"
#include "node/tablet_host.h"
#include "node/tablet_reconciler.h"
#include "node/unmounted_tablets.h"
#include "scheme/path_node.h"
#include "scheme/table_record.h"
#include "transaction/local_tablets.h"
#include "transaction/open_table.h"

namespace moraine {

// Shared by all tables; outlives them.
struct TableParts {
  World world;
  std::vector<table::TableResources*> lanes;  // The first is that of `world`.
  LocalTablets& tablets;
  table::AskCoordinator ask_coordinator;
  TabletReconciler& running;
  LeaderOptions leader;
  TabletTurns& turns;
  UnmountedTablets& unmounted;
};

class RunningTable : public std::enable_shared_from_this<RunningTable> {
 public:
  using TabletPtr = std::shared_ptr<table::TableTablet>;
  using Host = TabletHost<LaneTable>;

  RunningTable(TableParts& parts, std::string path, PathId id, TableRecord record);

  const std::string& path() const { return path_; }
  // With the leading '/', as in messages.
  std::string shown_path() const { return "/" + path_; }
  const PathId& id() const { return id_; }
  const TableRecord& record() const { return record_; }
  std::shared_ptr<TableHolder> holder() const { return holder_; }

  // It is at another path now; update() follows.
  void rename(std::string path) { path_ = std::move(path); }
  // Applies a new record: starts and stops tablets, passes options to running ones.
  void update(TableRecord record);
  // Stops all tablets; from here on reads and writes through handles of the table fail with
  // kNotFound.
  void remove();
  // Null: it is not running.
  TabletPtr tablet(std::size_t index) const;
  // Of a stopped tablet: its last statistics in this process. nullopt: unknown.
  Task<std::optional<table::TabletStatistics>> figures(std::size_t index) const;
  // Whether figures() are known.
  bool has_figures(std::size_t index) const;
  // Boots unmounted tablets without known statistics, to read them.
  Task<Result<void>> load_statistics();
  // The same for calls. Null: it is not running.
  std::shared_ptr<LaneTable> calls(std::size_t index) const;
  // Waits until it runs. Null: the deadline has passed, or it is not to run here.
  Task<std::shared_ptr<LaneTable>> wait_tablet(std::size_t index, Instant deadline);

  // An unmounted tablet, for reading. kReadOnly: it is in another state. Otherwise as
  // UnmountedTablets.
  Task<Result<TabletPtr>> open_unmounted(TabletId id);
  // Boots an unmounted tablet as frozen, calls `use` with it, and stops it.
  Task<Result<void>> with_stopped_tablet(
      std::size_t index, std::function<Task<Result<void>>(table::TableTablet&)> use);

 private:
  std::shared_ptr<Host> make_host(TabletId id);
  // Null: by the record it does not run.
  std::shared_ptr<Host> host(std::size_t index) const;
  // `for_reading`: for a while, not for its host.
  Task<Result<std::unique_ptr<LaneTable>>> boot(TabletId id, bool for_reading = false);
  Task<Result<std::unique_ptr<LaneTable>>> boot_in_turn(TabletId id, bool for_reading);
  // What a tablet takes over from its parents.
  struct Inherited {
    bool any = false;
    std::vector<table::ChunkRecord> chunks;
    Timestamp retained = 0;
    table::RowEnd trimmed{};
  };
  Task<Result<Inherited>> inherit_from_parents(const TabletOfTable& tablet,
                                               const table::KeyBounds& bounds);
  Task<Result<Inherited>> read_parent(TabletInfo parent, std::string from);
  Task<Result<std::unique_ptr<LaneTable>>> boot_with(TabletInfo info,
                                                     table::TabletSettings settings, bool frozen,
                                                     Inherited inherited);
  std::optional<std::size_t> index_of(TabletId tablet) const;
  Task<void> save_statistics(LaneTable& tablet);
  void configure(std::size_t index, LaneTable& tablet) const;
  void end_unmounted();
  void publish();

  TableParts& parts_;
  std::string path_;
  const PathId id_;
  TableRecord record_;
  std::map<TabletId, std::shared_ptr<Host>> hosts_;
  std::map<TabletId, table::TabletStatistics> last_statistics_;  // Of stopped tablets.
  std::shared_ptr<TableHolder> holder_;
  bool removed_ = false;
};

}  // namespace moraine
