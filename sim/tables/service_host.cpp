#include "sim/tables/service_host.h"

#include <fmt/format.h>

namespace moraine::sim {
namespace {

constexpr Duration kTick = 200ms;
constexpr Duration kEndPoll = 1ms;
constexpr Duration kStartTime = 60s;
constexpr std::uint64_t kEndTicks = 40;  // Between two clean stops, on average.

LeaderOptions leader_options() {
  LeaderOptions options;
  options.timeout = 6s;
  options.snapshot_log_bytes = 40'000;
  options.collect_period = 700ms;
  return options;
}

SchemeHostOptions scheme_options() {
  SchemeHostOptions options;
  options.group = Cluster::kGroup;
  options.leader = leader_options();
  return options;
}

TableServicesOptions services_options(const TableOptions& tables) {
  TableServicesOptions options;
  options.groups = {Cluster::kGroup};
  options.block_cache_bytes = tables.block_cache_bytes;
  options.row_cache_bytes = tables.row_cache_bytes;
  options.timestamp_lease = 800ms;
  options.leader = leader_options();
  return options;
}

}  // namespace

ServiceHost::Life::Life(std::uint64_t its_number, std::size_t its_client, World its_world,
                        blob::Proxy& its_proxy, const TableOptions& options)
    : ServingTables(its_world, table_services),
      number(its_number),
      client(its_client),
      proxy(its_proxy),
      scheme(world, *this, scheme_options()),
      table_services(world, *this, scheme, world.executor, services_options(options)) {}

ServiceHost::ServiceHost(SimWorld& world, Cluster& cluster, History& history, TableOptions options)
    : ServiceTables(world, history, std::move(options)),
      cluster_(cluster),
      random_(world.stream("service host")) {
  schedule_tick();
  start_changes();
}

ServingTables* ServiceHost::serving() const {
  return life_.get();
}

void ServiceHost::schedule_tick() {
  world_.executor().schedule(world_.executor().now() + kTick, [this, alive = alive_] {
    if (!*alive) return;
    tick();
    schedule_tick();
  });
}

void ServiceHost::tick() {
  if (is_stopped() || history_.failed()) return;
  if (!life_) begin_somewhere();
  if (is_calm()) return mount_again();
  if (life_ && life_->ready && random_.one_in(kEndTicks)) end();
  if (history_.now() >= next_jump_) {
    const auto most = static_cast<std::uint64_t>(options_.jumps_every.count());
    next_jump_ = history_.now() + Duration(random_.below(most));
    jump_some_clock(cluster_, history_, random_, options_);
  }
}

void ServiceHost::begin_somewhere() {
  const std::size_t client = random_.below(cluster_.clients());
  const std::size_t host = cluster_.client_host(client);
  if (!cluster_.alive(host) || !cluster_.blob_node(host)) return;
  SimNode& node = cluster_.node(host);
  life_ = std::make_unique<Life>(++lives_, client, node.world(), cluster_.proxy(client), options_);
  const std::uint64_t number = life_->number;
  node.on_stop([this, number] {
    if (!life_ || life_->number != number) return;
    *life_->over = true;
    life_->scheme.abandon();
    life_->services.abandon();
  });
  node.on_crash([this, number] {
    if (life_ && life_->number == number) life_.reset();
  });
  history_.tally.add(TableCommand::kBoot, TableAnswer::kOk);
  if (history_.verbose()) {
    history_.say(fmt::format("client {} begins to serve tables, life {}", client, number));
  }
  Life* life = life_.get();
  ++life->calls;
  life->world.executor.post([life, over = life->over] {
    if (!*over) spawn(start(*life));
  });
}

Task<void> ServiceHost::start(Life& life) {
  const std::shared_ptr<bool> over = life.over;
  life.scheme.start();
  while (!life.ready && !*over) {
    const Instant deadline = life.world.executor.now() + kStartTime;
    const auto known = co_await life.scheme.wait_known(deadline);
    const auto started = co_await life.services.start(deadline);
    life.ready = known && started;
  }
  --life.calls;
}

void ServiceHost::end() {
  if (!life_ || life_->ending || *life_->over) return;
  life_->ending = true;
  Life* life = life_.get();
  life->world.executor.post([this, life, over = life->over] {
    if (!*over) spawn(end_on_node(*life));
  });
}

Task<void> ServiceHost::end_on_node(Life& life) {
  const std::shared_ptr<bool> over = life.over;
  const std::uint64_t number = life.number;
  while (life.calls > 0 && !*over) co_await sleep_for(life.world.executor, kEndPoll);
  if (*over) co_return;
  co_await life.scheme.stop();
  co_await life.services.stop();
  if (*over) co_return;
  world_.executor().post([this, alive = alive_, number] {
    if (*alive && life_ && life_->number == number) life_.reset();
  });
}

void ServiceHost::move_all() {
  end();
}

}  // namespace moraine::sim
