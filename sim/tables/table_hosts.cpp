#include "sim/tables/table_hosts.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {
namespace {

constexpr Duration kTick = 200ms;
constexpr Duration kRetirePoll = 1ms;
constexpr std::uint64_t kRetireTicks = 80;  // Between two clean stops, on average.
constexpr std::uint64_t kOldLeaderOdds = 12;
constexpr Duration kAskTimeout = 2s;

}  // namespace

const void* TableHosts::Running::object() const {
  if (table) return table.get();
  return coordinator ? static_cast<const void*>(coordinator.get()) : oracle.get();
}

void TableHosts::Running::abandon() {
  if (table) table->abandon();
  if (coordinator) coordinator->abandon();
  if (oracle) oracle->abandon();
}

Task<void> TableHosts::Running::stop() {
  if (table) return table->stop();
  return coordinator ? coordinator->stop() : oracle->stop();
}

void TableHosts::Running::on_end(Callback hook) {
  if (table) return table->on_end(std::move(hook));
  return coordinator ? coordinator->on_end(std::move(hook)) : oracle->on_end(std::move(hook));
}

TableHosts::Session::Session(TableHosts& hosts, std::size_t which, World its_world,
                             blob::Proxy& its_proxy, Network& port)
    : client(which),
      world(its_world),
      proxy(its_proxy),
      blocks(hosts.options_.block_cache_bytes),
      row_cache(hosts.options_.row_cache_bytes),
      tablets(world.executor, port, [&hosts](TabletId id) { return hosts.locate(id); }),
      timestamps(world.executor, tablets, TableLayout::kOracle, 4s),
      resources{world, *this, timestamps, world.executor, blocks, nullptr, row_cache},
      server(port, world.executor) {}

TableHosts::TableHosts(SimWorld& world, Cluster& cluster, History& history, TableOptions options)
    : world_(world),
      cluster_(cluster),
      history_(history),
      options_(std::move(options)),
      random_(world.stream("table hosts")),
      locate_random_(world.stream("locate")) {
  schedule_tick();
}

LeaderOptions TableHosts::leader_options() {
  LeaderOptions options;
  options.timeout = 6s;
  options.snapshot_log_bytes = 40'000;
  options.collect_period = 700ms;
  return options;
}

void TableHosts::attach(std::size_t client) {
  const std::size_t host = cluster_.client_host(client);
  SimNode& node = cluster_.node(host);
  sessions_[client] = std::make_unique<Session>(*this, client, node.world(), cluster_.proxy(client),
                                                cluster_.router(host).port(kTablesProtocol));
  Session& session = *sessions_[client];
  node.on_stop([this, &session] {
    *session.over = true;
    session.scope.close();
    for (const Hold& running : session.running) {
      forget(running);
      running->abandon();
    }
  });
  node.on_crash([this, client] { sessions_.erase(client); });
}

void TableHosts::schedule_tick() {
  world_.executor().schedule(world_.executor().now() + kTick, [this, alive = alive_] {
    if (!*alive) return;
    tick();
    schedule_tick();
  });
}

void TableHosts::tick() {
  if (stopped_ || sessions_.empty() || history_.failed()) return;
  for (const TabletId id : options_.layout.all_tablets()) {
    if (served_[id].empty() && booting_[id] == 0) boot_somewhere(id);
    if (!calm_) trouble(id);
  }
  if (calm_) return;
  const Instant now = history_.now();
  const auto later = [&](Duration most) {
    return now + Duration(random_.below(static_cast<std::uint64_t>(most.count())));
  };
  if (now >= next_race_) {
    next_race_ = later(options_.boots_every);
    const std::vector<TabletId> all = options_.layout.all_tablets();
    const TabletId id = all[random_.below(all.size())];
    for (std::uint64_t racers = 1 + random_.below(2); racers > 0; --racers) boot_somewhere(id);
  }
  if (now >= next_maintenance_) {
    next_maintenance_ = later(options_.maintenance_every);
    const std::vector<TabletId> tables = options_.layout.table_tablets();
    if (const Hold running = newest(tables[random_.below(tables.size())])) maintain(running);
  }
  if (now >= next_jump_) {
    next_jump_ = later(options_.jumps_every);
    jump_some_clock(cluster_, history_, random_, options_);
  }
}

void TableHosts::trouble(TabletId id) {
  if (!random_.one_in(kRetireTicks) || served_[id].empty()) return;
  const Hold running = served_[id].back();
  Session& session = *sessions_.at(running->client);
  session.world.executor.post([this, &session, running] {
    if (!*session.over && !running->over) session.scope.spawn(retire(session, running));
  });
}

void TableHosts::move_all() {
  for (auto& [id, leaders] : served_) {
    for (const Hold& running : std::vector(leaders)) {
      Session& session = *sessions_.at(running->client);
      session.world.executor.post([this, &session, running] {
        if (!*session.over && !running->over) session.scope.spawn(retire(session, running));
      });
    }
  }
}

void TableHosts::use(const Hold& running, std::function<Task<void>(Hold)> work) {
  Session& session = *sessions_.at(running->client);
  session.world.executor.post([&session, running, work = std::move(work)] {
    if (*session.over || running->over) return;
    ++running->uses;
    session.scope.spawn(run_use(running, work(running)));
  });
}

Task<void> TableHosts::run_use(Hold running, Task<void> work) {
  co_await std::move(work);
  --running->uses;
}

Task<void> TableHosts::flush(Hold running) {
  (void)co_await running->table->flush();
}

Task<void> TableHosts::compact(Hold running) {
  (void)co_await running->table->compact_all();
}

void TableHosts::maintain(const Hold& running) {
  history_.tally.add(TableCommand::kMaintain, TableAnswer::kOk);
  use(running, random_.one_in(3) ? compact : flush);
}

void TableHosts::boot_somewhere(TabletId id) {
  auto at = sessions_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(sessions_.size())));
  Session& session = *at->second;
  ++booting_[id];
  session.world.executor.post([this, &session, id] { session.scope.spawn(boot(session, id)); });
}

table::TabletSettings TableHosts::settings_of(TabletId id) const {
  table::TabletSettings settings = options_.settings[options_.layout.table_of(id)];
  settings.schema = options_.layout.schema;
  settings.bounds = options_.layout.bounds_of(id);
  return settings;
}

Task<Result<TableHosts::Hold>> TableHosts::begin(Session& session, TabletId id) {
  const TabletInfo info = TabletInfo::simple(id, Cluster::kGroup, 3);
  auto running = std::make_shared<Running>();
  running->id = id;
  running->client = session.client;
  if (id == TableLayout::kOracle) {
    OracleOptions oracle;
    oracle.leader = leader_options();
    oracle.lease = 800ms;
    CO_TRY(running->oracle, co_await TimestampOracle::boot(session.world, session, info, oracle));
  } else if (id.value < TableLayout::kFirstTable) {
    CoordinatorOptions coordinator;
    coordinator.leader = leader_options();
    coordinator.prepare_timeout = 3s;
    coordinator.retry_max = 1s;
    CO_TRY(running->coordinator,
           co_await Coordinator::boot(session.world, session, info, session.tablets,
                                      session.timestamps, coordinator));
  } else {
    table::TableTabletOptions tablet;
    tablet.leader = leader_options();
    tablet.ask_after = 1s;
    tablet.ask_coordinator = [&session](TabletId coordinator, TransactionId transaction) {
      return session.tablets.outcome(coordinator, transaction,
                                     session.world.executor.now() + kAskTimeout);
    };
    CO_TRY(running->table, co_await table::TableTablet::boot(session.resources, info,
                                                             settings_of(id), std::move(tablet)));
  }
  co_return running;
}

// Other nodes may reach it once it is served.
Task<Result<void>> TableHosts::publish(Session& session, Hold running) {
  if (running->table) {
    co_return co_await session.server.add(running->id, running->table, session.timestamps);
  }
  if (running->coordinator) {
    co_return co_await session.server.add(running->id, running->coordinator, session.timestamps);
  }
  session.server.add(running->id, running->oracle);
  co_return Result<void>();
}

Task<void> TableHosts::boot(Session& session, TabletId id) {
  auto booted = co_await begin(session, id);
  if (booted) {
    const Hold running = *booted;
    session.running.push_back(running);
    if (*session.over) running->abandon();
    running->on_end([this, &session, running = running.get()] {
      const auto found =
          std::ranges::find(session.running, running, [](const Hold& one) { return one.get(); });
      if (found == session.running.end()) return;
      forget(*found);
      if (!*session.over) session.scope.spawn(retire(session, *found));
    });
    // A node serves one incarnation of a tablet; an older one would get no more requests.
    for (const Hold& older : std::list(session.running)) {
      if (older->id == id && older != running) session.scope.spawn(retire(session, older));
    }
    const auto published = co_await publish(session, running);
    if (published && !running->over && !*session.over) {
      served_[id].push_back(running);
    } else if (!running->over && !*session.over) {
      session.scope.spawn(retire(session, running));
    }
  }
  --booting_[id];
  history_.tally.add(TableCommand::kBoot, booted ? TableAnswer::kOk : TableAnswer::kFailed);
  if (history_.verbose()) {
    history_.say(fmt::format("boot of tablet {} on client {}: {}", id.value, session.client,
                             booted ? "leads" : booted.error().message()));
  }
  if (!booted && booted.error().code == Errc::kCorrupt) {
    history_.fail(fmt::format("tablet {}: {}", id.value, booted.error().message()));
  }
}

void TableHosts::forget(const Hold& running) {
  std::erase(served_[running->id], running);
}

Task<void> TableHosts::retire(Session& session, Hold running) {
  if (std::exchange(running->over, true)) co_return;
  forget(running);
  session.server.remove(running->object());
  co_await yield(session.world.executor);
  while (!*session.over && (session.server.calls(running->object()) > 0 || running->uses > 0)) {
    co_await sleep_for(session.world.executor, kRetirePoll);
  }
  if (*session.over) co_return;
  co_await running->stop();
  if (*session.over) co_return;
  std::erase(session.running, running);
}

std::size_t TableHosts::booting() const {
  std::size_t all = 0;
  for (const auto& [id, count] : booting_) all += count;
  return all;
}

std::string TableHosts::unsettled() const {
  for (const TabletId id : options_.layout.all_tablets()) {
    const Hold running = newest(id);
    if (!running) return fmt::format("tablet {} has no leader", id.value);
    if (!running->coordinator) continue;
    if (running->coordinator->unacknowledged() + running->coordinator->undecided() > 0) {
      return fmt::format("coordinator {} has {} unacknowledged and {} undecided transactions",
                         id.value, running->coordinator->unacknowledged(),
                         running->coordinator->undecided());
    }
  }
  return {};
}

TableHosts::Session* TableHosts::some_session(SeededRandom& random) {
  if (sessions_.empty()) return nullptr;
  auto at = sessions_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random.below(sessions_.size())));
  return *at->second->over ? nullptr : at->second.get();
}

TableHosts::Hold TableHosts::newest(TabletId id) const {
  const auto found = served_.find(id);
  return found == served_.end() || found->second.empty() ? nullptr : found->second.back();
}

// Sometimes one that no longer leads.
std::optional<NodeId> TableHosts::locate(TabletId id) {
  const auto found = served_.find(id);
  if (found == served_.end() || found->second.empty()) return std::nullopt;
  const std::vector<Hold>& leaders = found->second;
  const bool old = leaders.size() > 1 && locate_random_.one_in(kOldLeaderOdds);
  const Hold& chosen = old ? leaders[locate_random_.below(leaders.size())] : leaders.back();
  return cluster_.node_id(cluster_.client_host(chosen->client));
}

}  // namespace moraine::sim
