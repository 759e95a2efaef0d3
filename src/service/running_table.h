// RunningTable: one table of this node: its record, its tablets that run, and what readers see of
// it.
//
// Promise    Every tablet that the record calls mounted or frozen, or on its way from there, is
//            kept running. Each change of a tablet's life is published at once.
// Threading  The node's executor; holder() is for any thread.
// Tests      stored_tables_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheme/path_node.h"
#include "service/table_record.h"
#include "service/tablet_host.h"
#include "transaction/local_tablets.h"
#include "transaction/open_table.h"

namespace moraine {

// What every table needs; outlives them.
struct TableParts {
  World world;
  table::TableResources& resources;
  LocalTablets& tablets;
  table::AskCoordinator ask_coordinator;
  Semaphore& boots;
  LeaderOptions leader;
  table::SeededBug bug{};
};

class RunningTable : public std::enable_shared_from_this<RunningTable> {
 public:
  using TabletPtr = std::shared_ptr<table::TableTablet>;
  using Host = TabletHost<table::TableTablet>;

  RunningTable(TableParts& parts, std::string path, PathId id, TableRecord record);

  const std::string& path() const { return path_; }
  // As people write it.
  std::string shown_path() const { return "/" + path_; }
  const PathId& id() const { return id_; }
  const TableRecord& record() const { return record_; }
  std::shared_ptr<TableHolder> holder() const { return holder_; }

  // What the scheme says now: tablets start and stop, options reach those that run.
  void update(TableRecord record);
  void republish() { publish(); }
  // Reads and writes through handles of it fail with kNotFound from here on.
  void mark_removed();
  // Null: it does not run.
  TabletPtr tablet(std::size_t index) const;
  // Of a tablet that does not run: as it was when it last did in this process. nullopt: not known.
  std::optional<table::TabletStatistics> figures(std::size_t index) const;
  // Boots tablets that are not mounted and of which nothing is known, to look.
  Task<Result<void>> learn_figures();
  // Waits until it runs. Null: not by the deadline.
  Task<TabletPtr> wait_tablet(std::size_t index, Instant deadline);
  // Its tablets, stopped or not, for deletion.
  std::shared_ptr<Host> host(std::size_t index) const { return slots_[index].host; }

  Task<void> stop_tablet(std::size_t index);
  Task<void> stop();
  // The same for several callers: the first one stops it, all wait.
  Task<void> stop_once();
  void abandon();

  // Boots a tablet that is not mounted, frozen, hands it to `use`, and stops it.
  Task<Result<void>> with_stopped_tablet(
      std::size_t index, std::function<Task<Result<void>>(table::TableTablet&)> use);

 private:
  struct Slot {
    TabletId tablet;
    std::shared_ptr<Host> host;  // Null: unmounted.
  };

  std::shared_ptr<Host> make_host(std::size_t index);
  Task<Result<std::unique_ptr<table::TableTablet>>> boot(TabletOfTable tablet);
  // What a tablet takes over from those before it.
  struct Heritage {
    bool any = false;
    std::vector<table::ChunkRecord> chunks;
    Timestamp retained = 0;
  };
  Task<Result<Heritage>> heritage_of(const TabletOfTable& tablet, const table::KeyBounds& bounds);
  Task<Result<Heritage>> look_into(TabletInfo parent);
  Task<Result<Heritage>> look_into_alone(TabletInfo parent);
  Task<Result<std::unique_ptr<table::TableTablet>>> boot_with(TabletInfo info,
                                                              table::TabletSettings settings,
                                                              bool frozen, Heritage heritage);
  std::optional<std::size_t> index_of(TabletId tablet) const;
  void note_figures(const table::TableTablet& tablet);
  void tell(std::size_t index, table::TableTablet& tablet) const;
  void publish();
  Task<void> stop_host(std::shared_ptr<Host> host);

  TableParts& parts_;
  const std::string path_;
  const PathId id_;
  TableRecord record_;
  std::vector<Slot> slots_;
  std::map<TabletId, table::TabletStatistics> last_figures_;  // Of tablets that have stopped.
  Semaphore parents_{1};  // A tablet that several take over from is booted by one at a time.
  std::shared_ptr<TableHolder> holder_;
  bool removed_ = false;
  bool stopped_ = false;
  bool stop_done_ = false;
  Waiters stop_waiters_{parts_.world.executor};
  std::vector<std::weak_ptr<Host>> ending_;
  TaskScope scope_;  // Hosts that stop.
};

}  // namespace moraine
