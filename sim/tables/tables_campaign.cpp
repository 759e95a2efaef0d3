#include "sim/tables/tables_campaign.h"

#include <fmt/format.h>

#include "base/log.h"
#include "sim/nemesis.h"
#include "sim/tables/remote_access.h"
#include "sim/tables/service_access.h"
#include "sim/tables/service_host.h"
#include "sim/tables/table_clients.h"

namespace moraine::sim {
namespace {

constexpr Duration kFirstStart = 30s;
constexpr Duration kStep = 500ms;
constexpr Duration kDrainBound = 60s;
constexpr Duration kSettleBound = 180s;
constexpr int kPeacefulTries = 20;
constexpr std::uint64_t kOneOwnerSeeds = 3;  // One seed in this many.

// What varies from seed to seed besides the order of events.
struct Plan {
  SimOptions world;
  ClusterOptions cluster;
  TableOptions tables;
  NemesisOptions nemesis;
};

table::Codec some_codec(SeededRandom& random) {
  constexpr std::string_view kNames[] = {"none", "lz4", "zstd_3", "snappy", "zlib_6"};
  return *table::parse_codec(kNames[random.below(std::size(kNames))]);
}

// Small stores and few chunks, so that flush and compaction are always active.
table::TabletSettings some_settings(SeededRandom& random, const RetentionConfig& retention) {
  table::TabletSettings settings;
  settings.table_path = "//sim";
  settings.chunks.format = random.one_in(2) ? OptimizeFor::kLookup : OptimizeFor::kScan;
  settings.chunks.codec = some_codec(random);
  settings.chunks.block_bytes = std::size_t{256} << random.below(6);
  settings.chunks.key_filter = random.one_in(2);
  settings.in_memory_mode = static_cast<InMemoryMode>(random.below(6) % 3);
  table::MountConfig& mount = settings.mount;
  mount.retention() = retention;
  mount.max_dynamic_store_row_count = 4 + random.below(40);
  mount.dynamic_store_auto_flush_period =
      std::chrono::milliseconds(300 + random.below(random.one_in(2) ? 1'000 : 10'000));
  mount.merge_rows_on_flush = random.one_in(3);
  mount.min_compaction_store_count = 2 + static_cast<std::uint32_t>(random.below(3));
  mount.max_compaction_store_count = mount.min_compaction_store_count + 3;
  if (random.one_in(3)) {
    mount.auto_compaction_period = std::chrono::milliseconds(500 + random.below(5'000));
  }
  if (random.one_in(3)) {
    mount.min_partition_data_size = 200;
    mount.desired_partition_data_size = 600;
    mount.max_partition_data_size = 1'500;
  }
  if (random.one_in(2)) {
    mount.lookup_cache_rows_per_tablet = 2 + random.below(30);
    mount.enable_lookup_cache_by_default = true;
  }
  mount.enable_key_filter_for_lookup = random.one_in(2);
  return settings;
}

// The same for a table that is created by name, as far as there are options for it.
moraine::TableOptions some_options(SeededRandom& random, const table::TabletSettings& settings) {
  moraine::TableOptions options;
  options.optimize_for = settings.chunks.format;
  options.compression_codec = to_string(settings.chunks.codec);
  options.in_memory_mode = settings.in_memory_mode;
  options.block_size = random.one_in(2) ? 0 : settings.chunks.block_bytes;
  options.key_filter = settings.chunks.key_filter;
  options.mount = settings.mount;
  return options;
}

}  // namespace

void plan_tables(SeededRandom& random, TableOptions& tables) {
  TableLayout& layout = tables.layout;
  layout.tables = 2 + random.below(2);
  layout.ranges = 2 + random.below(2);
  layout.keys = static_cast<std::int64_t>(layout.ranges * (8 + random.below(8)));
  layout.coordinators = 1 + random.below(2);
  const bool hunks = random.one_in(3);
  layout.schema = std::make_shared<const TableSchema>(campaign_schema(
      hunks ? std::optional(std::max<std::uint64_t>(1, random.below(200))) : std::nullopt));
  RetentionConfig retention;
  if (random.one_in(3)) {
    const auto seconds = 3 + random.below(5);
    retention.min_data_ttl = std::chrono::seconds(seconds);
    retention.max_data_ttl = random.one_in(2) ? std::chrono::hours(1)
                                              : std::chrono::milliseconds(retention.min_data_ttl);
    retention.min_data_versions = 1 + static_cast<std::uint32_t>(random.below(2));
    retention.max_data_versions = retention.min_data_versions;
    tables.versions_stay = std::chrono::seconds(seconds) - 1s;
  }
  for (std::size_t i = 0; i < layout.tables; ++i) {
    tables.settings.push_back(some_settings(random, retention));
    tables.of_tables.push_back(some_options(random, tables.settings.back()));
  }
  tables.row_cache_bytes = random.one_in(4) ? 16u << 10 : 1u << 20;
  // All blocks stay, or none: the order of eviction depends on addresses in memory.
  tables.block_cache_bytes = random.one_in(4) ? 1 : 8u << 20;
  tables.workers = 3 + random.below(6);
  tables.think_max = 20ms + Duration(1ms) * random.below(200);
  tables.boots_every = 1s + Duration(1ms) * random.below(8'000);
  tables.maintenance_every = 200ms + Duration(1ms) * random.below(3'000);
  // A clock that is ahead makes versions old: they must stay for a while nevertheless.
  tables.jump_max = std::chrono::milliseconds(tables.versions_stay ? 300 : 60'000);
}

namespace {

Plan plan_of(const SeedOptions& options) {
  SeededRandom random(stream_seed(options.seed, "plan"));
  Plan plan;
  plan.world.jitter_max = random.one_in(2) ? Duration(20us) : Duration(0);
  LinkFaults& links = plan.world.network;
  if (!random.one_in(3)) {
    links.loss.one_in = 200 + random.below(2'000);
    links.duplicate.one_in = 10 + random.below(300);
    links.delay.one_in = 20 + random.below(500);
    links.delay_max = 50ms + Duration(1ms) * random.below(600);
  }
  plan.cluster.erasure = options.erasure.value_or(options.seed % 5 == 0   ? Erasure::kNone
                                                  : options.seed % 2 == 0 ? Erasure::kMirror3dc
                                                                          : Erasure::kBlock42);
  plan.cluster.segments = 96;
  plan.cluster.clients = 3 + random.below(3);
  plan.cluster.node = quick_node_options();
  plan.tables.one_owner = options.seed % kOneOwnerSeeds == 0;
  plan_tables(random, plan.tables);
  plan.world.clock_skew_max = std::chrono::milliseconds(plan.tables.versions_stay ? 300 : 5'000);
  plan.nemesis.pause_between_max = 500ms + Duration(1ms) * random.below(3'000);
  plan.nemesis.trouble_max = 1s + Duration(1ms) * random.below(4'000);
  plan.nemesis.blackouts = random.one_in(2);
  return plan;
}

void say_plan(const History& history, const TableOptions& tables) {
  if (!history.verbose()) return;
  for (const table::TabletSettings& settings : tables.settings) {
    const bool scan = settings.chunks.format == OptimizeFor::kScan;
    history.say(fmt::format("a table for {}, {}, in memory {}, {} cached rows, blocks of {}",
                            scan ? "scans" : "lookups", to_string(settings.chunks.codec),
                            static_cast<int>(settings.in_memory_mode),
                            settings.mount.lookup_cache_rows_per_tablet,
                            settings.chunks.block_bytes));
  }
}

// One run. The members are destroyed in the reverse order of their construction.
class Run {
 public:
  Run(const Plan& plan, const SeedOptions& options, SimWorld& world, History& history)
      : options_(options),
        world_(world),
        history_(history),
        model_(history, plan.tables.versions_stay),
        cluster_(world, plan.cluster),
        stage_(make_stage(plan.tables)),
        clients_(world, plan.tables, *access_, model_, history),
        nemesis_(world, cluster_, history, plan.nemesis, hooks()) {}

  void run_all() {
    run_while(kFirstStart, [this] { return !cluster_.all_ready(); });
    if (!cluster_.all_ready()) history_.fail("the group did not start: " + cluster_.unsettled());
    for (std::size_t client = 0; client < cluster_.clients(); ++client) stage_->attach(client);
    clients_.start();
    nemesis_.start();
    run_while(options_.trouble, [] { return true; });
    nemesis_.heal();
    stage_->calm();
    run_while(kStep * 4, [] { return true; });
    clients_.stop();
    run_to_the_end(kDrainBound, [this] { return clients_.running() > 0; });
    if (clients_.running() > 0) history_.fail("calls were never answered");
    if (!history_.failed()) check_final_state();
    clients_.finish();
    stage_->stop();
    run_to_the_end(kDrainBound,
                   [this] { return stage_->booting() > 0 || clients_.resolving() > 0; });
    world_.shutdown();
    if (!history_.failed()) model_.judge();
    history_.tally.rows_checked = model_.reads_checked();
  }

 private:
  Nemesis::Hooks hooks() {
    Nemesis::Hooks hooks;
    hooks.client_started = [this](std::size_t client) { stage_->attach(client); };
    return hooks;
  }
  std::unique_ptr<TableStage> make_stage(const TableOptions& tables) {
    if (tables.one_owner) {
      auto host = std::make_unique<ServiceHost>(world_, cluster_, history_, tables);
      access_ = std::make_unique<ServiceAccess>(world_, *host);
      return host;
    }
    auto hosts = std::make_unique<TableHosts>(world_, cluster_, history_, tables);
    access_ = std::make_unique<RemoteAccess>(world_, *hosts);
    return hosts;
  }
  void run_while(Duration time, const std::function<bool()>& keep_running) {
    const Instant end = world_.executor().now() + time;
    while (world_.executor().now() < end && !history_.failed() && keep_running())
      world_.run_for(kStep);
  }
  // Also after a failure: coroutines must finish.
  void run_to_the_end(Duration time, const std::function<bool()>& keep_running) {
    const Instant end = world_.executor().now() + time;
    while (world_.executor().now() < end && keep_running()) world_.run_for(kStep);
  }

  void check_final_state() {
    if (!cluster_.settle(kSettleBound)) {
      return history_.fail("did not settle: " + cluster_.unsettled());
    }
    // The first pass finds everything; so must the second, elsewhere and with nothing in memory.
    for (int i = 0; i < 2 && !history_.failed(); ++i) {
      run_while(kDrainBound, [this] { return !stage_->unsettled().empty(); });
      const std::string unsettled = stage_->unsettled();
      if (!unsettled.empty()) return history_.fail("after all faults: " + unsettled);
      if (i == 0) try_until("locks cannot be checked", &TableClients::check_locks);
      try_until("not all rows can be read", &TableClients::read_everything);
      if (i == 0) try_until("not all versions can be read", &TableClients::show_versions);
      if (i == 0) tidy();
      if (i == 0) stage_->move_all();
    }
  }
  // Removing replaced tablets must not remove anything that is needed.
  void tidy() {
    for (int i = 0; i < kPeacefulTries * 2 && !history_.failed(); ++i) {
      if (world_.run(stage_->tidy())) {
        return try_until("not all rows can be read", &TableClients::read_everything);
      }
      world_.run_for(kStep);
    }
    history_.fail("after all faults: replaced tablets are not removed");
  }
  void try_until(std::string_view otherwise, Task<bool> (TableClients::*what)()) {
    for (int i = 0; i < kPeacefulTries && !history_.failed(); ++i) {
      if (world_.run((clients_.*what)())) return;
      world_.run_for(kStep);
    }
    history_.fail(fmt::format("after all faults: {}", otherwise));
  }

  const SeedOptions& options_;
  SimWorld& world_;
  History& history_;
  TableModel model_;
  Cluster cluster_;
  std::unique_ptr<TableAccess> access_;
  std::unique_ptr<TableStage> stage_;
  TableClients clients_;
  Nemesis nemesis_;
};

}  // namespace

SeedOptions tables_options(std::uint64_t seed) {
  SeedOptions options;
  options.seed = seed;
  options.trouble = 20s;
  return options;
}

SeedReport run_tables_seed(const SeedOptions& options) {
  std::optional<ScopedLogCapture> silence;
  if (!options.verbose) silence.emplace(0);
  const Plan plan = plan_of(options);
  SimWorld world(options.seed, plan.world);
  History history(world, options.verbose);
  say_plan(history, plan.tables);
  Run(plan, options, world, history).run_all();
  return report_of(plan.cluster.erasure, world, history);
}

}  // namespace moraine::sim
