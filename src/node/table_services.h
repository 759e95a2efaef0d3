// TableServices: the tables of one node with their timestamp oracle, coordinator and caches.
//
// Promise    The oracle and the coordinator run as long as placement has them here. start() ends
//            when those of the two serve that are here by then; tables start in the background.
//            What placement has on another node is reached there by messages: tablets of tables,
//            the oracle and the coordinator. A timestamp that is awaited while the oracle moves is
//            drawn at its new place. stop() ends cleanly: what was acknowledged is durable anyway.
// Threading  The control lane; timestamps() and commit_parts() on any lane; try_timestamp()
//            anywhere.
// Tests      table_services_test.cpp, stored_tables_test.cpp, two_nodes_test.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "cluster/system_places.h"
#include "node/stored_tables.h"
#include "node/tablet_host.h"
#include "node/tablet_reconciler.h"
#include "transaction/commit.h"
#include "transaction/remote_tablets.h"
#include "transaction/tablet_server.h"
#include "transaction/timestamp_oracle.h"

namespace moraine {

inline constexpr std::size_t kMemoryStoreBytesDefault = std::size_t{1} << 30;
// The largest memory stores are flushed from this part of the limit on.
inline constexpr std::size_t kFlushMarkPart = 2;
// Limit of the lock history of all tablets, as a part of that of memory stores.
inline constexpr std::size_t kLockHistoryPart = 2;

// Another lane of the node, for tablets.
struct TableLane {
  World world;
  BlobGroups* groups = nullptr;
};

struct TableServicesOptions {
  std::vector<GroupId> groups;  // Assigned to new tablets in turn.
  SystemPlaces places;          // Of the oracle and the coordinator. Absent: the first group.
  std::size_t block_cache_bytes = std::size_t{256} << 20;
  std::size_t compressed_cache_bytes = 0;                    // 0: none.
  std::size_t in_memory_bytes = table::kPinnedBytesDefault;  // Of tables with an in_memory_mode.
  std::size_t row_cache_bytes = std::size_t{64} << 20;
  std::size_t memory_store_bytes = kMemoryStoreBytesDefault;  // Of rows that are not flushed.
  std::optional<Duration> timestamp_lease;                    // As in OracleOptions.
  ClockLimits clock;
  LeaderOptions leader;
  Placement* placement = nullptr;  // None: all tablets are always to run here, on the first lane.
  // Where tablets, the oracle and the coordinator are served to other nodes. None: they are not.
  Network* serve_on = nullptr;
  std::vector<TableLane> other_lanes;
  Executor* flushing = nullptr;  // More urgent than `background`. None: the same.
};

class TableServices final : public TransactionServices {
 public:
  // `groups`, `scheme` and `background` outlive the object; `scheme` has not started.
  TableServices(World world, BlobGroups& groups, SchemeHost& scheme, Executor& background,
                TableServicesOptions options);
  TableServices(const TableServices&) = delete;
  TableServices& operator=(const TableServices&) = delete;

  // kTimeout: the deadline has passed; the start continues, and start() may be called again.
  Task<Result<void>> start(Instant deadline);
  // Calls to other nodes end, and later ones fail: a stop does not wait for them. Call before the
  // scheme's stop(), which waits for tablets that may have such calls in flight.
  void close() { remote_.close(); }
  // Call after the scheme's.
  Task<void> stop();
  void abandon();

  // Why the oracle or the coordinator failed to start; the other: or a tablet of a table. nullopt:
  // none failed.
  std::optional<Error> system_boot_error() const;
  std::optional<Error> boot_error() const;

  StoredTables& tables() { return tables_; }
  LocalTablets& tablets() { return tablets_; }
  // Null: it is not running.
  std::shared_ptr<Coordinator> coordinator() const { return coordinator_->get(); }
  TimestampSource& timestamps() override { return timestamps_; }
  std::optional<Timestamp> try_timestamp() override;
  CommitParts commit_parts() override;
  TabletReads& reads() override { return tablets_; }
  client::OpenCounts& open_counts() override { return open_counts_; }
  std::vector<Executor*> lanes() override;
  // The clock of the tables: the world's, checked by ClockGuard.
  ClockGuard& clock() { return clock_; }
  const table::BlockCache& blocks() const { return blocks_; }
  const table::PinnedMemory& pinned_memory() const { return pinned_memory_; }
  table::SlabMemory& row_cache_memory() { return row_cache_memory_; }
  const table::MemoryBudget& store_budget() const { return store_budget_; }
  const table::MemoryBudget& history_budget() const { return history_budget_; }

 private:
  struct OtherLane {
    OtherLane(TableServices& services, const TableLane& lane, Executor& background);
    World world;
    table::TableResources resources;
  };
  // Timestamps of the running incarnation of the oracle.
  class HostedTimestamps final : public TimestampSource {
   public:
    explicit HostedTimestamps(TableServices& services) : services_(services) {}
    Task<Result<Timestamp>> next() override;

   private:
    TableServices& services_;
  };

  using OracleHost = TabletHost<TimestampOracle>;
  using CoordinatorHost = TabletHost<Coordinator>;

  TabletInfo system_tablet(TabletId id) const;
  OracleHost::Hooks oracle_hooks();
  CoordinatorHost::Hooks coordinator_hooks();
  bool on_other_node(TabletId id) const { return other_node(options_.placement, id).has_value(); }
  bool here(TabletId id) const {
    return options_.placement == nullptr || options_.placement->place_of(id).lane().has_value();
  }
  Task<Result<Timestamp>> next_timestamp();
  // Of the oracle here.
  Task<Result<Timestamp>> own_timestamp(Instant deadline);
  // For other nodes. Commits are accepted once a timestamp was drawn, which is retried.
  void serve_tablets();
  template <class T>
  Task<void> serve(TabletId id, std::shared_ptr<T> tablet, std::function<bool()> runs);
  Task<Result<std::unique_ptr<TimestampOracle>>> boot_oracle();
  Task<Result<std::unique_ptr<Coordinator>>> boot_coordinator();
  Task<Result<TransactionOutcome>> ask(TabletId coordinator, TransactionId id);
  Task<Result<Timestamp>> commit_many(std::vector<Participant> participants);
  std::vector<table::TableResources*> lane_resources();
  std::vector<std::unique_ptr<OtherLane>> make_other_lanes(Executor& background);

  const TableServicesOptions options_;
  ClockGuard clock_;
  World world_;  // With that clock.
  WallClock& wall_clock_;
  BlobGroups& groups_;
  table::MemoryBudget store_budget_;
  table::MemoryBudget history_budget_;
  HostedTimestamps timestamps_;
  LocalTablets tablets_;
  RemoteTablets remote_;
  RemoteTimestamps remote_timestamps_;
  table::PinnedMemory pinned_memory_;
  table::BlockCache blocks_;
  std::unique_ptr<table::BlockCache> compressed_blocks_;
  table::SlabMemory row_cache_memory_;
  table::TableResources resources_;
  std::vector<std::unique_ptr<OtherLane>> other_lanes_;
  const std::shared_ptr<OracleHost> oracle_;
  std::atomic<std::shared_ptr<TimestampOracle>> shared_oracle_;
  const std::shared_ptr<CoordinatorHost> coordinator_;
  StoredTables tables_;
  std::unique_ptr<TabletServer> server_;  // Null: nothing is served to other nodes.
  TaskScope serving_;
  Event serving_pause_;
  std::shared_ptr<Coordinator> served_coordinator_;
  client::OpenCounts open_counts_;
  bool started_ = false;
  TabletReconciler system_;  // Runs the oracle and the coordinator.
};

}  // namespace moraine
