#include "sim/topics/topics_campaign.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sim/nemesis.h"
#include "sim/topics/topic_clients.h"

namespace moraine::sim {
namespace {

constexpr Duration kFirstStart = 30s;
constexpr Duration kStep = 500ms;
constexpr Duration kDrainBound = 60s;
constexpr Duration kSettleBound = 180s;
constexpr std::size_t kReadBytes = 1u << 20;

// What varies from seed to seed besides the order of events.
struct Plan {
  SimOptions world;
  ClusterOptions cluster;
  TopicOptions topics;
  NemesisOptions nemesis;
};

void plan_topics(SeededRandom& random, TopicOptions& topics) {
  topics.tablets = random.one_in(4) ? 2 : 1;
  topics.partitions = 1 + random.below(2);
  topics.partitions_max = topics.partitions + random.below(2);
  topics.boots_every = 1s + Duration(1ms) * random.below(10'000);
  topics.think_max = 100ms + Duration(1ms) * random.below(500);
  topics.message_bytes_max = std::size_t{100} << random.below(8);
  topics.window_max = 1 + random.below(10);
  queue::PartitionConfig& config = topics.config;
  config.low_watermark = std::uint64_t{1'000} << random.below(9);
  config.important_consumers = {kAuditor};
  if (random.one_in(2)) config.retention_ms = 200 + random.below(10'000);
  if (random.one_in(2)) config.retention_bytes = random.below(60'000);
  if (random.one_in(3)) config.count_max = 5 + random.below(60);
  if (random.one_in(6)) config.write_bytes_per_second = 20'000 + random.below(200'000);
  if (random.one_in(3)) topics.waiting_writes_max = 6 + random.below(20);
  if (random.one_in(3)) topics.refusals.sources_max = 1 + random.below(3);
  if (random.one_in(3)) topics.refusals.numbers_max = 1 + random.below(20);
  // No grace period for unknown producers.
  topics.sequences_wrap = random.one_in(2);
  if (topics.sequences_wrap) topics.refusals.unknown_producer_grace = Duration(0);
}

Plan plan_of(const SeedOptions& options) {
  SeededRandom random(stream_seed(options.seed, "plan"));
  Plan plan;
  plan.world.jitter_max = random.one_in(2) ? Duration(20us) : Duration(0);
  plan.world.clock_skew_max = std::chrono::milliseconds(5'000);
  LinkFaults& links = plan.world.network;
  if (!random.one_in(3)) {
    links.loss.one_in = 200 + random.below(2'000);
    links.duplicate.one_in = 20 + random.below(500);
    links.delay.one_in = 20 + random.below(500);
    links.delay_max = 50ms + Duration(1ms) * random.below(600);
  }
  plan.cluster.erasure =
      options.erasure.value_or(options.seed % 2 == 0 ? Erasure::kMirror3dc : Erasure::kBlock42);
  // Small devices fill up, and get free space by retention.
  plan.cluster.segments = random.one_in(5) ? 14 : 96;
  plan.cluster.clients = 3;
  plan.cluster.node = quick_node_options();
  plan_topics(random, plan.topics);
  plan.nemesis.pause_between_max = 500ms + Duration(1ms) * random.below(3'000);
  plan.nemesis.trouble_max = 1s + Duration(1ms) * random.below(5'000);
  plan.nemesis.blackouts = random.one_in(2);
  return plan;
}

// One run. The members are destroyed in the reverse order of their construction.
class Run {
 public:
  Run(const Plan& plan, const SeedOptions& options, SimWorld& world, History& history)
      : plan_(plan),
        options_(options),
        world_(world),
        history_(history),
        model_(history),
        cluster_(world, plan.cluster),
        hosts_(world, cluster_, model_, history, plan.topics),
        clients_(world, hosts_, model_, history, plan.topics),
        nemesis_(world, cluster_, history, plan.nemesis, hooks()) {}

  void run_all() {
    run_while(kFirstStart, [this] { return !cluster_.all_ready(); });
    if (!cluster_.all_ready()) history_.fail("the group did not start: " + cluster_.unsettled());
    for (std::size_t client = 0; client < cluster_.clients(); ++client) hosts_.attach(client);
    clients_.start();
    nemesis_.start();
    run_while(options_.trouble, [] { return true; });
    nemesis_.heal();
    clients_.stop();
    hosts_.stop();
    const Instant end = world_.executor().now() + kDrainBound;
    const auto busy = [this] { return clients_.running() > 0 || hosts_.booting() > 0; };
    while (busy() && world_.executor().now() < end) world_.run_for(kStep);
    if (busy()) history_.fail("calls were never answered");
    if (!history_.failed()) check_final_state();
    world_.shutdown();
  }

 private:
  Nemesis::Hooks hooks() {
    Nemesis::Hooks hooks;
    hooks.client_started = [this](std::size_t client) { hosts_.attach(client); };
    return hooks;
  }
  void run_while(Duration time, const std::function<bool()>& keep_running) {
    const Instant end = world_.executor().now() + time;
    while (world_.executor().now() < end && !history_.failed() && keep_running())
      world_.run_for(kStep);
  }

  void check_final_state() {
    if (!cluster_.settle(kSettleBound)) {
      return history_.fail("did not settle: " + cluster_.unsettled());
    }
    for (std::uint64_t tablet = 1; tablet <= plan_.topics.tablets; ++tablet) {
      // The first pass finds everything; so must the second, elsewhere and with nothing in memory.
      for (std::size_t client = 0; client < 2 && !history_.failed(); ++client) {
        look_at(tablet, client);
      }
    }
  }
  void look_at(std::uint64_t tablet, std::size_t client) {
    struct Groups final : BlobGroups {
      explicit Groups(blob::Proxy& its_proxy) : proxy(its_proxy) {}
      blob::Proxy* group(blob::GroupId) override { return &proxy; }
      blob::Proxy& proxy;
    } groups(cluster_.proxy(client));
    queue::BlobCache cache(1u << 20);
    auto booted = world_.run(queue::QueueTablet::boot(
        cluster_.node(cluster_.client_host(client)).world(), groups, TopicHosts::info(tablet),
        cache, hosts_.setups(tablet), TopicHosts::leader_options()));
    if (!booted) {
      return history_.fail(fmt::format("tablet {} does not start after all faults had ended: {}",
                                       tablet, booted.error().message()));
    }
    for (const queue::PartitionSetup& setup : hosts_.setups(tablet)) {
      if (history_.failed()) break;
      const auto partition = (*booted)->partition(setup.index);
      const PartitionName name{tablet, setup.index};
      model_.booted(name, (*booted)->store().leader().generation(), *partition);
      read_all(name, *partition, client == 0 ? clients_.audited(name) : 0);
      if (client == 0) model_.finished(name, partition->info().end);
    }
    world_.run((*booted)->stop());
  }
  void read_all(const PartitionName& name, queue::Partition& partition, queue::Offset from) {
    queue::Offset at = std::max(from, partition.info().start);
    if (at > from && from > 0) history_.fail("the start passed the auditor's offset");
    while (at < partition.info().end && !history_.failed()) {
      const auto answer = world_.run(partition.read({at, kReadBytes}));
      if (answer && answer->entries.empty() && partition.info().start > at) {
        at = partition.info().start;  // Retention continues.
        continue;
      }
      if (!answer || answer->entries.empty()) {
        return history_.fail(fmt::format("tablet {} partition {}: offset {} cannot be read: {}",
                                         name.tablet, name.index, at,
                                         answer ? "nothing" : answer.error().message()));
      }
      for (const queue::StoredEntry& entry : answer->entries) {
        model_.seen(name, entry);
        at = entry.offset + entry.count;
      }
    }
  }

  const Plan& plan_;
  const SeedOptions& options_;
  SimWorld& world_;
  History& history_;
  TopicModel model_;
  Cluster cluster_;
  TopicHosts hosts_;
  TopicClients clients_;
  Nemesis nemesis_;
};

}  // namespace

SeedOptions topics_options(std::uint64_t seed) {
  SeedOptions options;
  options.seed = seed;
  options.trouble = 20s;
  return options;
}

SeedReport run_topics_seed(const SeedOptions& options) {
  std::optional<ScopedLogCapture> silence;
  if (!options.verbose) silence.emplace(0);
  const Plan plan = plan_of(options);
  SimWorld world(options.seed, plan.world);
  History history(world, options.verbose);
  Run(plan, options, world, history).run_all();
  return report_of(plan.cluster.erasure, world, history);
}

}  // namespace moraine::sim
