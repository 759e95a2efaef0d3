#include "node/table_services.h"

#include "cluster/tablet_ids.h"
#include "io/run_on.h"

namespace moraine {
namespace {

constexpr Duration kTimestampTimeout = 10s;
constexpr Duration kServeRetryPause = 1s;  // After a timestamp could not be drawn.
constexpr Duration kAskTimeout = 5s;       // Of one request to the coordinator of another node.

// For TabletReconciler: each has one tablet.
constexpr PathId kOracleOwner{1};
constexpr PathId kCoordinatorOwner{2};

StoredTablesOptions tables_options(const TableServicesOptions& options) {
  StoredTablesOptions made;
  made.groups = options.groups;
  made.leader = options.leader;
  return made;
}

}  // namespace

TableServices::TableServices(World world, BlobGroups& groups, SchemeHost& scheme,
                             Executor& background, TableServicesOptions options)
    : options_(std::move(options)),
      clock_(world.clock, world.executor, options_.clock),
      world_{world.executor, clock_, world.random, world.disks, world.network},
      wall_clock_(world.clock),
      groups_(groups),
      store_budget_(options_.memory_store_bytes / kFlushMarkPart, options_.memory_store_bytes),
      history_budget_(options_.memory_store_bytes / kLockHistoryPart,
                      options_.memory_store_bytes / kLockHistoryPart),
      timestamps_(*this),
      tablets_(world.executor),
      remote_(world.executor, world.network,
              [this](TabletId id) { return other_node(options_.placement, id); }),
      remote_timestamps_(world.executor, remote_, kTimestampTabletId),
      pinned_memory_(options_.in_memory_bytes),
      blocks_(options_.block_cache_bytes, &pinned_memory_),
      row_cache_memory_(options_.row_cache_bytes),
      resources_{world_,           groups,           timestamps_,       background,
                 blocks_,          nullptr,          row_cache_memory_, &store_budget_,
                 &history_budget_, options_.flushing},
      other_lanes_(make_other_lanes(background)),
      oracle_(std::make_shared<OracleHost>(world.executor, "timestamps", oracle_hooks())),
      coordinator_(
          std::make_shared<CoordinatorHost>(world.executor, "coordinator", coordinator_hooks())),
      tables_(
          world_, scheme, lane_resources(), tablets_,
          [this](TabletId coordinator, TransactionId id) { return ask(coordinator, id); },
          tables_options(options_)),
      serving_pause_(world.executor),
      system_(world.executor, options_.placement) {
  tablets_.set_others(remote_, remote_);
  if (options_.serve_on != nullptr) serve_tablets();
  if (options_.compressed_cache_bytes > 0) {
    compressed_blocks_ =
        std::make_unique<table::BlockCache>(options_.compressed_cache_bytes, &pinned_memory_);
    for (table::TableResources* lane : lane_resources()) {
      lane->compressed_blocks = compressed_blocks_.get();
    }
  }
}

TableServices::OracleHost::Hooks TableServices::oracle_hooks() {
  OracleHost::Hooks hooks;
  hooks.boot = [this] { return boot_oracle(); };
  hooks.booted = [this](const std::shared_ptr<TimestampOracle>& oracle) {
    shared_oracle_ = oracle;
    if (server_) server_->add(kTimestampTabletId, oracle);
  };
  hooks.ending = [this](const auto&) -> Task<void> {
    if (server_) server_->remove(shared_oracle_.load().get());
    shared_oracle_.store(nullptr);
    co_return;
  };
  hooks.still_here = still_here(options_.placement, kTimestampTabletId);
  return hooks;
}

TableServices::CoordinatorHost::Hooks TableServices::coordinator_hooks() {
  CoordinatorHost::Hooks hooks;
  hooks.boot = [this] { return boot_coordinator(); };
  hooks.booted = [this](const std::shared_ptr<Coordinator>& coordinator) {
    if (!server_) return;
    served_coordinator_ = coordinator;
    serving_.spawn(serve(kCoordinatorTabletId, coordinator,
                         [this, coordinator] { return served_coordinator_ == coordinator; }));
  };
  hooks.ending = [this](const auto&) -> Task<void> {
    if (server_) server_->remove(served_coordinator_.get());
    served_coordinator_.reset();
    serving_pause_.notify_all();
    co_return;
  };
  hooks.still_here = still_here(options_.placement, kCoordinatorTabletId);
  return hooks;
}

void TableServices::serve_tablets() {
  server_ = std::make_unique<TabletServer>(*options_.serve_on, world_.executor);
  using TabletPtr = std::shared_ptr<table::TableTablet>;
  tablets_.set_listener(
      [this](TabletId id, const TabletPtr& tablet) {
        serving_.spawn(serve(id, tablet, [this, id, tablet = std::weak_ptr(tablet)] {
          const TabletPtr wanted = tablet.lock();
          return wanted && tablets_.find(id).tablet == wanted;
        }));
      },
      [this](TabletId, const TabletPtr& tablet) {
        server_->remove(tablet.get());
        serving_pause_.notify_all();
      });
}

template <class T>
Task<void> TableServices::serve(TabletId id, std::shared_ptr<T> tablet,
                                std::function<bool()> runs) {
  while (!serving_.closed() && runs()) {
    if (co_await server_->add(id, tablet, timestamps_)) break;
    if (serving_.closed() || !runs()) break;
    co_await serving_pause_.wait_until(world_.executor.now() + kServeRetryPause);
  }
  // It may have ended meanwhile.
  if (serving_.closed() || !runs()) server_->remove(tablet.get());
}

TableServices::OtherLane::OtherLane(TableServices& services, const TableLane& lane,
                                    Executor& background)
    : world{lane.world.executor, services.clock_, lane.world.random, lane.world.disks,
            lane.world.network},
      resources{world,
                *lane.groups,
                services.timestamps_,
                background,
                services.blocks_,
                nullptr,
                services.row_cache_memory_,
                &services.store_budget_,
                &services.history_budget_,
                services.options_.flushing} {}

std::vector<std::unique_ptr<TableServices::OtherLane>> TableServices::make_other_lanes(
    Executor& background) {
  std::vector<std::unique_ptr<OtherLane>> lanes;
  for (const TableLane& lane : options_.other_lanes) {
    lanes.push_back(std::make_unique<OtherLane>(*this, lane, background));
  }
  return lanes;
}

std::vector<Executor*> TableServices::lanes() {
  std::vector<Executor*> lanes{&world_.executor};
  for (const auto& lane : other_lanes_) lanes.push_back(&lane->world.executor);
  return lanes;
}

std::vector<table::TableResources*> TableServices::lane_resources() {
  std::vector<table::TableResources*> lanes{&resources_};
  for (const auto& lane : other_lanes_) lanes.push_back(&lane->resources);
  return lanes;
}

Task<Result<void>> TableServices::start(Instant deadline) {
  if (!std::exchange(started_, true)) {
    system_.set(kOracleOwner, NodeKind::kTable, "timestamps", {{kTimestampTabletId, oracle_}});
    system_.set(kCoordinatorOwner, NodeKind::kTable, "coordinator",
                {{kCoordinatorTabletId, coordinator_}});
  }
  if (!co_await system_.wait_running(kTimestampTabletId, deadline)) {
    co_return fail(Errc::kTimeout, "the timestamp oracle did not start in time");
  }
  if (!co_await system_.wait_running(kCoordinatorTabletId, deadline)) {
    co_return fail(Errc::kTimeout, "the coordinator did not start in time");
  }
  co_return Result<void>();
}

std::optional<Error> TableServices::system_boot_error() const {
  if (here(kTimestampTabletId) && oracle_->boot_error()) return oracle_->boot_error();
  return here(kCoordinatorTabletId) ? coordinator_->boot_error() : std::nullopt;
}

std::optional<Error> TableServices::boot_error() const {
  const auto error = system_boot_error();
  return error ? error : tables_.boot_error();
}

// Tables first: their prepared transactions may still ask the coordinator.
Task<void> TableServices::stop() {
  close();
  serving_.close();
  if (server_) server_->close();
  serving_pause_.notify_all();
  co_await tables_.stop();
  // The coordinator first: it needs timestamps for the commits in flight.
  system_.remove(kCoordinatorOwner);
  co_await system_.wait_stopped(kCoordinatorTabletId);
  co_await system_.stop();
  co_await serving_.join();
  // Requests of other nodes; their tablets have ended.
  if (server_) co_await server_->wait_idle();
}

void TableServices::abandon() {
  close();
  serving_.close();
  serving_pause_.notify_all();
  tables_.abandon();
  system_.abandon();
}

TabletInfo TableServices::system_tablet(TabletId id) const {
  const auto place = options_.places.find(id);
  const GroupId group = place == options_.places.end() ? options_.groups.front() : place->second;
  return TabletInfo::simple(id, group, kKeyValueChannels);
}

Task<Result<std::unique_ptr<TimestampOracle>>> TableServices::boot_oracle() {
  OracleOptions options;
  options.leader = options_.leader;
  options.lease = options_.timestamp_lease;
  options.clock = &clock_;
  // It reads the clock for every timestamp, and checks the guard before it raises the ceiling.
  const World world{world_.executor, wall_clock_, world_.random, world_.disks, world_.network};
  return TimestampOracle::boot(world, groups_, system_tablet(kTimestampTabletId), options);
}

Task<Result<std::unique_ptr<Coordinator>>> TableServices::boot_coordinator() {
  CoordinatorOptions options;
  options.leader = options_.leader;
  return Coordinator::boot(world_, groups_, system_tablet(kCoordinatorTabletId), tablets_,
                           timestamps_, options);
}

Task<Result<Timestamp>> TableServices::HostedTimestamps::next() {
  if (const auto issued = services_.try_timestamp()) co_return *issued;
  co_return co_await run_there(services_.world_.executor,
                               [this] { return services_.next_timestamp(); });
}

Task<Result<Timestamp>> TableServices::next_timestamp() {
  const Instant end = world_.executor.now() + kTimestampTimeout;
  const auto elsewhere = [this] { return !oracle_->get() && on_other_node(kTimestampTabletId); };
  for (;;) {
    const bool remote = elsewhere();
    Result<Timestamp> given =
        remote ? co_await remote_timestamps_.next() : co_await own_timestamp(end);
    const bool moved = elsewhere() != remote;
    if (given || !moved || world_.executor.now() >= end) co_return given;
  }
}

Task<Result<Timestamp>> TableServices::own_timestamp(Instant deadline) {
  const std::shared_ptr<TimestampOracle> oracle = co_await oracle_->wait(deadline);
  if (!oracle) co_return fail(Errc::kNotHere, "the timestamp oracle is not running here");
  co_return co_await oracle->next();
}

std::optional<Timestamp> TableServices::try_timestamp() {
  const std::shared_ptr<TimestampOracle> oracle = shared_oracle_.load();
  return oracle ? oracle->try_next() : std::nullopt;
}

Task<Result<Timestamp>> TableServices::commit_many(std::vector<Participant> participants) {
  const std::shared_ptr<Coordinator> coordinator = coordinator_->get();
  if (!coordinator && on_other_node(kCoordinatorTabletId)) {
    co_return co_await remote_.decide(kCoordinatorTabletId, std::move(participants),
                                      Instant::never());
  }
  if (!coordinator) co_return fail(Errc::kAborted, "no coordinator runs; nothing was changed");
  co_return co_await coordinator->commit(std::move(participants));
}

CommitParts TableServices::commit_parts() {
  return {tablets_, timestamps_, [this](std::vector<Participant> participants) {
            return run_there(world_.executor,
                             [this, participants = std::move(participants)]() mutable {
                               return commit_many(std::move(participants));
                             });
          }};
}

Task<Result<TransactionOutcome>> TableServices::ask(TabletId coordinator, TransactionId id) {
  const auto running = coordinator_->get();
  if (coordinator == kCoordinatorTabletId && running) co_return running->outcome(id);
  co_return co_await remote_.outcome(coordinator, id, world_.executor.now() + kAskTimeout);
}

}  // namespace moraine
