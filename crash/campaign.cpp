#include "crash/campaign.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "app/blob_client.h"
#include "base/log.h"
#include "cluster/local/cluster_file.h"
#include "crash/load.h"
#include "crash/servers.h"
#include "crash/tables/tables_campaign.h"
#include "crash/topics/topics_campaign.h"
#include "crash/verify.h"
#include "io/real/os_random.h"
#include "io/real/real_world.h"

namespace moraine::crash {
namespace {

constexpr Duration kReadyWithin = 120s;
constexpr Duration kReadyPoll = 20ms;
constexpr Duration kPatience = 60s;
constexpr std::uint64_t kLoadMsMin = 50;
constexpr std::uint64_t kLoadMsMax = 1'000;
constexpr std::uint64_t kDownMsMax = 400;
constexpr std::size_t kSamplePerTablet = 40;
constexpr std::uint64_t kKillAllOneIn = 3;

class Campaign {
 public:
  Campaign(RealWorld& world, Servers& servers, Random& random)
      : world_(world),
        servers_(servers),
        random_(random),
        group_(servers.config().groups.front()),
        guest_(world.world(), group_),
        load_(world.lane(), guest_.proxy(), random, LoadOptions{}),
        verifier_(world.lane(), guest_.proxy(), kPatience) {}

  Task<int> run(std::uint32_t rounds) {
    auto outcome = co_await run_rounds(rounds);
    if (outcome) outcome = co_await finish();
    co_await guest_.stop();
    co_await world_.network().stop();
    if (outcome) outcome = servers_.stop_all();
    if (outcome) outcome = servers_.check();
    if (!outcome) fmt::print(stderr, "moraine_crash: {}\n", outcome.error().message());
    const VerifyCounts& counts = verifier_.counts();
    for (const std::string& what : load_.violations()) fmt::print("VIOLATION {}\n", what);
    fmt::print(
        "{} kills, {} acknowledged, {} collects, {} blocks, {} verified, {} collected and "
        "gone\n",
        kills_, load_.counts().acknowledged, load_.counts().collects, load_.counts().blocks,
        counts.verified, counts.collected);
    fmt::print("{} kills, {} lost\n", kills_, counts.lost);
    if (counts.lost > 0 || !load_.violations().empty()) co_return 1;
    co_return outcome ? 0 : 2;
  }

 private:
  Task<Result<void>> run_rounds(std::uint32_t rounds) {
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      CO_TRY_VOID(co_await bring_up());
      co_await verify(round > 2 ? round - 2 : 0, kSamplePerTablet);
      const LoadCounts before = load_.counts();
      load_.start(round);
      const std::uint64_t load_ms = kLoadMsMin + random_.below(kLoadMsMax - kLoadMsMin);
      co_await pause(load_ms);
      const std::size_t killed = co_await kill_some();
      load_.stop();
      co_await load_.joined();
      show(round, load_ms, killed, before);
    }
    co_return Result<void>();
  }

  Task<Result<void>> finish() {
    CO_TRY_VOID(co_await bring_up());
    fmt::print("reading back everything\n");
    std::fflush(stdout);
    co_await verify(0, 0);
    for (TabletTruth& tablet : load_.tablets()) co_await verifier_.check_gone(tablet);
    report_losses();
    co_return Result<void>();
  }

  // Starts everything, and waits until every disk is ready.
  Task<Result<void>> bring_up() {
    CO_TRY_VOID(servers_.start_all());
    for (const NodeId node : servers_.nodes()) {
      world_.network().set_peer(node, servers_.address(node));
    }
    const Instant deadline = world_.lane().now() + kReadyWithin;
    for (;;) {
      blob::StatusRequest request;
      request.deadline = world_.lane().now() + 5s;
      const blob::StatusResult status = co_await guest_.proxy().status(request);
      const bool ready = std::ranges::all_of(status.disks, [](const blob::DiskState& disk) {
        return disk.status == blob::Status::kOk && disk.state.ready;
      });
      if (ready) co_return Result<void>();
      if (world_.lane().now() > deadline) {
        co_return fail(Errc::kTimeout,
                       fmt::format("the group is not ready: {} {}; see {}",
                                   to_string(status.status), status.reason, servers_.log_path()));
      }
      co_await sleep_for(world_.lane(), kReadyPoll);
    }
  }

  Task<void> verify(std::uint32_t since, std::size_t sample) {
    for (TabletTruth& tablet : load_.tablets()) {
      co_await verifier_.settle_doubts(tablet);
      co_await verifier_.check_stored(tablet, since, sample, random_);
    }
    report_losses();
  }

  // Kills one process, or all. While one of several is down the load continues.
  Task<std::size_t> kill_some() {
    const std::vector<NodeId> nodes = servers_.nodes();
    const bool all = nodes.size() == 1 || random_.one_in(kKillAllOneIn);
    ++kills_;
    if (all) {
      for (const NodeId node : nodes) servers_.kill(node);
      co_return nodes.size();
    }
    servers_.kill(nodes[random_.below(nodes.size())]);
    co_await pause(random_.below(kDownMsMax));
    for (TabletTruth& tablet : load_.tablets()) {
      co_await verifier_.check_stored(tablet, ~0u, kSamplePerTablet / 4, random_);
    }
    co_return 1;
  }

  Task<void> pause(std::uint64_t milliseconds) {
    co_await sleep_for(world_.lane(), std::chrono::milliseconds(milliseconds));
  }

  void report_losses() {
    for (const std::string& line : verifier_.counts().reports) fmt::print("{}\n", line);
    verifier_.counts().reports.clear();
  }

  void show(std::uint32_t round, std::uint64_t load_ms, std::size_t killed,
            const LoadCounts& before) {
    const VerifyCounts& counts = verifier_.counts();
    fmt::print(
        "round {}: {} killed after {} ms; acknowledged {} (in all {}), in doubt {}; so far "
        "verified {}, doubts there {} absent {}, lost {}\n",
        round, killed, load_ms, load_.counts().acknowledged - before.acknowledged,
        load_.counts().acknowledged, load_.counts().in_doubt - before.in_doubt, counts.verified,
        counts.doubt_there, counts.doubt_absent, counts.lost);
    std::fflush(stdout);
  }

  RealWorld& world_;
  Servers& servers_;
  Random& random_;
  const blob::GroupConfig group_;
  app::GuestClient guest_;
  Load load_;
  Verifier verifier_;
  std::uint64_t kills_ = 0;
};

std::string_view name_of(const CampaignOptions& options) {
  if (options.tables) return "tables";
  return options.topics ? "topics" : to_string(options.species);
}

Result<std::string> make_folder(const std::string& wanted) {
  if (!wanted.empty()) {
    std::error_code error;
    std::filesystem::create_directories(wanted, error);
    if (error) return fail(Errc::kIo, wanted + ": " + error.message());
    return wanted;
  }
  std::string pattern = (std::filesystem::temp_directory_path() / "moraine-crash-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return fail(Errc::kIo, "no temporary folder");
  return pattern;
}

int run_in(const CampaignOptions& options, const std::string& folder, std::uint64_t seed) {
  if (options.tables) return run_tables_campaign({options.rounds, options.self, folder, seed});
  if (options.topics) return run_topics_campaign({options.rounds, options.binary, folder, seed});
  SeededRandom random(seed);
  ServersOptions servers_options;
  servers_options.binary = options.binary;
  servers_options.folder = folder;
  servers_options.species = options.species;
  auto servers = Servers::prepare(servers_options, random);
  if (!servers) {
    fmt::print(stderr, "moraine_crash: {}\n", servers.error().message());
    return 2;
  }
  auto network = network_options(servers->config(), NodeId{});
  if (!network) {
    fmt::print(stderr, "moraine_crash: {}\n", network.error().message());
    return 2;
  }
  RealWorld world({}, std::move(*network));
  Campaign campaign(world, *servers, random);
  return world.run(campaign.run(options.rounds));
}

}  // namespace

int run_campaign(const CampaignOptions& options) {
  set_log_level(LogLevel::kError);
  const auto folder = make_folder(options.folder);
  if (!folder) {
    fmt::print(stderr, "moraine_crash: {}\n", folder.error().message());
    return 2;
  }
  OsRandom drawn;
  const std::uint64_t seed = options.seed != 0 ? options.seed : drawn.next() | 1;
  fmt::print("{} rounds, {}, seed {}, in {}\n", options.rounds, name_of(options), seed, *folder);
  const int code = run_in(options, *folder, seed);
  if (code == 0 && options.folder.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(*folder, ignored);
  } else {
    fmt::print("the files stay in {}\n", *folder);
  }
  return code;
}

}  // namespace moraine::crash
