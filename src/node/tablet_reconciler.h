// TabletReconciler: makes the tablets of topics and tables run that the scheme wants and placement
// gives to this node, and no others.
//
//   record of a topic or table  ->  set()                               |
//                                                                       |-> plan_tablets() -> steps
//   Placement                   ->  place_of(); changes: its watcher    |
//
// Promise    Starts and configurations are carried out before set() or the watcher's call returns;
//            stops run in the background. A change of its place is passed on to the tablet. A
//            tablet whose lane changes, or that is wanted again while it is being stopped, is
//            started when it has stopped. A tablet that does not start is retried by itself
//            (tablet_host.h), and the report says why.
// Threading  The control lane. Waiting calls must have ended before it is destroyed.
// Limits     kBootsMax, kTableBootsMax, kStopsMax.
// Tests      tablet_reconciler_test.cpp, placement_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/placement.h"
#include "io/event.h"
#include "node/boot_turns.h"
#include "node/managed_tablet.h"
#include "node/tablet_plan.h"
#include "scheme/path_node.h"

namespace moraine {

// Concurrent boots of tablets of one group.
inline constexpr std::size_t kBootsMax = 64;              // Of topics.
inline constexpr std::size_t kTableBootsMax = 16;         // Of tables.
inline constexpr std::size_t kStopsMax = 64;              // Concurrent stops of all tablets.
inline constexpr std::size_t kReportedBootErrorsMax = 8;  // Of all that do not start.

using ManagedTablets = std::map<TabletId, std::shared_ptr<ManagedTablet>>;

// The tablets of one kind of nodes that are to run here.
struct TabletsReport {
  std::size_t running = 0;
  std::size_t starting = 0;
  // Why tablets do not start: the first kReportedBootErrorsMax, with the names of their topics or
  // tables.
  std::vector<Error> errors;
};

class TabletReconciler {
 public:
  // `placement` outlives the object. Null: all tablets are always to run here, on the first lane.
  TabletReconciler(Executor& executor, Placement* placement);
  TabletReconciler(const TabletReconciler&) = delete;
  TabletReconciler& operator=(const TabletReconciler&) = delete;
  ~TabletReconciler();

  // Replaces the tablets of a topic or table that are to run, wherever they are placed. `name` is
  // for messages. Those that run already are configured.
  void set(const PathId& owner, NodeKind kind, std::string name, ManagedTablets tablets);
  void remove(const PathId& owner) { set(owner, {}, {}, {}); }

  // The lane for a boot of the tablet here, also when it is placed elsewhere.
  std::size_t lane_of(TabletId tablet) const { return placed_on(tablet).value_or(0); }
  Placement* placement() const { return placement_; }
  // For boots of tablets of topics or tables.
  BootTurns& turns(NodeKind kind);

  // Waits until the tablet runs, is placed elsewhere or is no longer wanted. False: the deadline
  // has passed, or stop() was called.
  Task<bool> wait_running(TabletId tablet, Instant deadline);
  // The same for all tablets of a topic or table, and of one kind.
  Task<bool> wait_running(PathId owner, Instant deadline);
  Task<bool> wait_running(NodeKind kind, Instant deadline);
  // Waits until no incarnation runs here. Requires: it is not wanted any more.
  Task<void> wait_stopped(TabletId tablet);
  TabletsReport report(NodeKind kind) const;

  // Stops all tablets; from here on none is wanted. Called once.
  Task<void> stop();
  // The same without waiting, and without waiting for operations in flight.
  void abandon();

 private:
  struct Owner {
    NodeKind kind{};
    std::string name;
    std::uint64_t revision = 0;
    ManagedTablets tablets;
  };
  struct Started {
    Started(std::shared_ptr<ManagedTablet> its_tablet, WantedTablet as, Executor& executor)
        : tablet(std::move(its_tablet)), state{as.lane, as.revision}, stopped(executor) {}
    const std::shared_ptr<ManagedTablet> tablet;
    StartedTablet state;
    Event stopped;
  };
  using StartedPtr = std::shared_ptr<Started>;

  const Owner* owner_of(TabletId tablet) const;
  std::optional<std::size_t> placed_on(TabletId tablet) const;
  std::optional<WantedTablet> wanted(TabletId tablet) const;
  void reconcile(const std::set<TabletId>& tablets);
  // Its place has changed.
  void note_moved(TabletId tablet);
  void carry_out(const TabletStep& step, const std::map<TabletId, WantedTablet>& wanted);
  Task<void> stop_tablet(TabletId id, StartedPtr started);
  Task<bool> wait_all(std::vector<TabletId> tablets, Instant deadline);
  // Stops everything in the background.
  void close();

  Executor& executor_;
  Placement* const placement_;
  std::uint64_t watcher_ = 0;
  std::map<PathId, Owner> owners_;
  std::map<TabletId, PathId> owner_of_;
  std::map<TabletId, StartedPtr> started_;
  BootTurns topic_turns_{executor_, kBootsMax};
  BootTurns table_turns_{executor_, kTableBootsMax};
  Semaphore stops_{executor_, kStopsMax};
  bool closed_ = false;
  Event reconciled_{executor_};  // Steps were carried out.
  TaskScope scope_;              // Stops.
};

}  // namespace moraine
