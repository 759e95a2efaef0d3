#include "sim/topics/topic_hosts.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

namespace {

constexpr Duration kTick = 200ms;
constexpr Duration kRetirePoll = 1ms;
constexpr std::uint64_t kGrowTicks = 60;    // Between two growths, on average.
constexpr std::uint64_t kRetireTicks = 60;  // Between two clean stops, on average.

}  // namespace

TopicHosts::TopicHosts(SimWorld& world, Cluster& cluster, TopicModel& model, History& history,
                       TopicOptions options)
    : world_(world),
      cluster_(cluster),
      model_(model),
      history_(history),
      options_(std::move(options)),
      random_(world.stream("topic hosts")) {
  for (std::uint64_t tablet = 1; tablet <= options_.tablets; ++tablet) {
    sizes_[tablet] = options_.partitions;
  }
  schedule_tick();
}

LeaderOptions TopicHosts::leader_options() {
  LeaderOptions options;
  options.timeout = 6s;
  options.snapshot_log_bytes = 40'000;
  options.collect_period = 700ms;
  return options;
}

std::vector<queue::PartitionSetup> TopicHosts::setups(std::uint64_t tablet) const {
  std::vector<queue::PartitionSetup> setups;
  for (std::size_t i = 0; i < sizes_.at(tablet); ++i) setups.push_back(setup_of(i));
  return setups;
}

queue::PartitionSetup TopicHosts::setup_of(std::size_t index) const {
  return {static_cast<queue::PartitionIndex>(index), options_.config, options_.waiting_writes_max,
          options_.refusals};
}

void TopicHosts::attach(std::size_t client) {
  SimNode& node = cluster_.node(cluster_.client_host(client));
  sessions_[client] = std::make_unique<Session>(client, node.world(), cluster_.proxy(client));
  Session& session = *sessions_[client];
  node.on_stop([this, &session] {
    session.over = true;
    session.scope.close();
    for (auto& [tablet, leaders] : served_) {
      for (const Leader& served : leaders) {
        if (served->client == session.client) served->running = nullptr;
      }
      std::erase_if(leaders, [](const Leader& served) { return !served->running; });
    }
    for (const auto& tablet : session.tablets) tablet->abandon();
  });
  node.on_crash([this, client] { sessions_.erase(client); });
}

void TopicHosts::schedule_tick() {
  world_.executor().schedule(world_.executor().now() + kTick, [this, alive = alive_] {
    if (!*alive) return;
    tick();
    schedule_tick();
  });
}

void TopicHosts::tick() {
  if (stopped_ || sessions_.empty() || history_.failed()) return;
  for (const auto& [tablet, size] : sizes_) {
    if (served_[tablet].empty() && booting_[tablet] == 0) boot_somewhere(tablet);
    if (random_.one_in(kGrowTicks)) grow(tablet);
    if (random_.one_in(kRetireTicks) && !served_[tablet].empty()) {
      const Leader served = served_[tablet].back();
      Session& session = *sessions_.at(served->client);
      session.world.executor.post([this, &session, served] {
        if (!session.over && served->running) {
          session.scope.spawn(retire(session, served, served->running));
        }
      });
    }
  }
  if (history_.now() < next_race_) return;
  next_race_ = history_.now() +
               Duration(random_.below(static_cast<std::uint64_t>(options_.boots_every.count())));
  const std::uint64_t tablet = 1 + random_.below(options_.tablets);
  for (std::uint64_t racers = 1 + random_.below(3); racers > 0; --racers) boot_somewhere(tablet);
}

void TopicHosts::boot_somewhere(std::uint64_t tablet) {
  auto at = sessions_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(sessions_.size())));
  Session& session = *at->second;
  ++booting_[tablet];
  session.world.executor.post(
      [this, &session, tablet] { session.scope.spawn(boot(session, tablet)); });
}

Task<void> TopicHosts::boot(Session& session, std::uint64_t tablet) {
  auto booted = co_await queue::QueueTablet::boot(session.world, session, info(tablet),
                                                  session.cache, setups(tablet), leader_options());
  --booting_[tablet];
  history_.tally.add(TopicCommand::kBoot, booted ? TopicAnswer::kOk : TopicAnswer::kFailed);
  if (!booted) {
    if (history_.verbose()) {
      history_.say(fmt::format("boot of tablet {} on client {}: {}", tablet, session.client,
                               booted.error().message()));
    }
    if (booted.error().code == Errc::kCorrupt) {
      history_.fail(fmt::format("tablet {}: {}", tablet, booted.error().message()));
    }
    co_return;
  }
  queue::QueueTablet* const running = booted->get();
  session.tablets.push_back(std::move(*booted));
  if (session.over) {
    running->abandon();
    co_return;
  }
  auto served = std::make_shared<Served>(Served{session.client, tablet,
                                                running->store().leader().generation(), running,
                                                &session.world.executor});
  if (history_.verbose()) {
    history_.say(fmt::format("client {} leads tablet {} as generation {}", session.client, tablet,
                             served->generation));
  }
  running->on_end([this, &session, served, running] {
    forget(served);
    if (!session.over) session.scope.spawn(retire(session, served, running));
  });
  auto& leaders = served_[tablet];
  leaders.insert(std::ranges::upper_bound(leaders, served->generation, {}, &Served::generation),
                 served);
  for (std::size_t i = 0; i < sizes_.at(tablet); ++i) {
    const auto index = static_cast<queue::PartitionIndex>(i);
    const auto partition = running->partition(index);
    if (partition) model_.booted({tablet, index}, served->generation, *partition);
  }
}

void TopicHosts::forget(const Leader& served) {
  served->running = nullptr;
  std::erase(served_[served->tablet], served);
}

Task<void> TopicHosts::retire(Session& session, Leader served, queue::QueueTablet* tablet) {
  if (std::exchange(served->retiring, true)) co_return;
  forget(served);
  co_await yield(session.world.executor);
  while (served->adding > 0) co_await sleep_for(session.world.executor, kRetirePoll);
  if (session.over) co_return;
  co_await tablet->stop();
  if (session.over) co_return;
  std::erase_if(session.tablets, [tablet](const auto& one) { return one.get() == tablet; });
}

void TopicHosts::grow(std::uint64_t tablet) {
  if (sizes_[tablet] >= options_.partitions_max || served_[tablet].empty()) return;
  const Leader served = served_[tablet].back();
  const queue::PartitionSetup setup = setup_of(sizes_[tablet]++);
  history_.tally.add(TopicCommand::kAddPartition, TopicAnswer::kOk);
  for (const Leader& each : served_[tablet]) {
    Session& session = *sessions_.at(each->client);
    session.world.executor.post([&session, each, setup] {
      if (each->running) session.scope.spawn(add(each, setup));
    });
  }
}

Task<void> TopicHosts::add(Leader served, queue::PartitionSetup setup) {
  ++served->adding;
  (void)co_await served->running->add_partition(std::move(setup));
  --served->adding;
}

std::size_t TopicHosts::booting() const {
  std::size_t all = 0;
  for (const auto& [tablet, count] : booting_) all += count;
  return all;
}

TopicHosts::Leader TopicHosts::leader(std::uint64_t tablet, SeededRandom& random) const {
  const auto found = served_.find(tablet);
  if (found == served_.end() || found->second.empty()) return nullptr;
  if (random.one_in(8)) return found->second[random.below(found->second.size())];
  return found->second.back();
}

}  // namespace moraine::sim
