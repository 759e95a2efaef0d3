// moraine serve
#include <fmt/format.h>
#include <netdb.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "app/commands.h"
#include "app/exit_code.h"
#include "app/http_pages.h"
#include "app/node_watch.h"
#include "app/serve_plan.h"
#include "app/served.h"
#include "base/log.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/data_folder.h"
#include "cluster/tablet_ids.h"
#include "io/real/machine.h"
#include "io/real/signals.h"

namespace moraine::app {
namespace {

constexpr Duration kReadyWait = 30s;
constexpr Duration kStartTurn = 1s;  // Signals are checked after each.

Task<void> wait_until_ready(Executor& executor, blob::BlobNode& node, const OneShot<int>& signal) {
  const Instant deadline = executor.now() + kReadyWait;
  while (recovering_vdisks(node) > 0 && !signal.ready() && executor.now() < deadline) {
    co_await node.wait_while_recovering(std::min(deadline, executor.now() + kStartTurn));
  }
}

// Resolves a host name to a numeric address.
Task<Result<TcpAddress>> numeric(Lane& lane, TcpAddress address) {
  CO_TRY(const std::vector<SocketAddress> found, co_await resolve(lane, address));
  char host[NI_MAXHOST];
  const auto* raw = reinterpret_cast<const sockaddr*>(&found.front().storage);
  const int status =
      getnameinfo(raw, found.front().size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  if (status != 0) co_return fail(Errc::kInvalidArgument, gai_strerror(status));
  co_return TcpAddress{host, address.port};
}

// The hints name the program as it was called: they can be pasted.
void announce(const ServePlan& plan, const Served& served, const TcpAddress& listen,
              const HttpPages& pages) {
  const std::string http_text =
      plan.http ? to_string(TcpAddress{plan.http->host, pages.port()}) : std::string("off");
  const std::string kafka_text =
      served.kafka ? to_string(served.kafka->address()) : std::string("off");
  fmt::print("listening http={} grpc=off kafka={} node={}\n", http_text, kafka_text,
             to_string(listen));
  std::fflush(stdout);
  fmt::print(stderr, "grpc: not served yet (docs/limits.md)\n");
  if (!plan.folder)
    fmt::print(stderr, "node {} of cluster {}\n", plan.self.value, plan.config.name);
  if (served.kafka) {
    fmt::print(stderr, "try: echo hello | {} topic write --kafka {} greetings\n", plan.program,
               kafka_text);
    fmt::print(stderr, "     {} topic read --kafka {} greetings\n", plan.program, kafka_text);
  }
  if (plan.folder) {
    fmt::print(stderr, "try: echo hello | {} blob put --data {} '[1:1:1:0:0:6:0]' -\n",
               plan.program, plan.folder->path);
  }
  if (plan.http) fmt::print(stderr, "try: curl http://{}/status\n", http_text);
  if (plan.http && served.yt) {
    fmt::print(stderr, "try: yt --proxy http://{} list //    (pip install ytsaurus-client)\n",
               http_text);
  }
}

Task<Result<void>> open_pages(Lane& lane, const ServePlan& plan, HttpPages& pages) {
  if (!plan.http) co_return Result<void>();
  CO_TRY(const TcpAddress address, co_await numeric(lane, *plan.http));
  co_return pages.open(address);
}

// Retries `attempt` while it fails because of a timeout. False: a signal came first.
Task<Result<bool>> until_done(Executor& executor, const OneShot<int>& signal,
                              std::function<Task<Result<void>>(Instant)> attempt) {
  bool logged = false;
  while (!signal.ready()) {
    const Instant turn = executor.now() + kStartTurn;
    const Result<void> result = co_await attempt(turn);
    if (result) co_return true;
    const Errc code = result.error().code;
    if (code != Errc::kTimeout && code != Errc::kUnavailable && code != Errc::kNotHere) {
      co_return std::unexpected(result.error());
    }
    if (!std::exchange(logged, true)) {
      log_info("topics are being started", {{"so far", result.error().context}});
    }
    if (executor.now() < turn) co_await sleep_for(executor, turn - executor.now());
  }
  co_return false;
}

std::string kafka_text(const KafkaServerOptions& options, std::uint16_t port) {
  const bool own = options.advertised_host.empty();
  return to_string(TcpAddress{own ? options.kafka.host : options.advertised_host, port});
}

Task<Result<void>> take_claim(World world, const ServePlan& plan, Served& served) {
  ClaimHolder self;
  self.node = plan.self.value;
  self.address = kafka_text(*plan.kafka, plan.kafka->kafka.port);
  ClaimOptions how;
  how.take_over = plan.take_over;
  blob::Proxy& group = *served.node.storage().proxy(served.node.places().at(kSchemeTabletId));
  CO_TRY(served.claim, co_await TopicsClaim::take(world, group, self, how));
  TopicsClaim& claim = *served.claim;
  served.node.set_confirm([&claim] { return claim.confirm(); });
  co_return Result<void>();
}

Task<void> end_topics(Served& served) {
  served.yt_door = nullptr;
  const std::unique_ptr<KafkaServer> kafka = std::move(served.kafka);
  served.topics_elsewhere = true;
  if (kafka) co_await kafka->stop();
}

// After another node has taken the topics over, only the disks are served here.
void watch_claim(Served& served) {
  if (!served.claim) return;
  served.claim->set_address(to_string(served.kafka->address()));
  if (served.claim->lost()) {
    served.stops.spawn(end_topics(served));
  } else {
    served.claim->on_lost([&served] { served.stops.spawn(end_topics(served)); });
  }
}

// Starts the tablets. False: a signal came first, or another node of the cluster has them.
Task<Result<bool>> start_tablets(World world, const ServePlan& plan, Served& served,
                                 const OneShot<int>& signal) {
  Executor& executor = world.executor;
  Node& node = served.node;
  CO_TRY(bool done, co_await until_done(executor, signal, [&node](Instant turn) {
           return node.locate_system(turn);
         }));
  if (!done) co_return false;
  // One node of a cluster serves topics.
  if (plan.config.nodes.size() > 1) {
    const auto claimed = co_await until_done(
        executor, signal, [&](Instant) { return take_claim(world, plan, served); });
    if (!claimed && claimed.error().code == Errc::kConflict) {
      log_error("topics are not served here", {{"why", claimed.error().context}});
      served.topics_elsewhere = true;
      co_return false;
    }
    if (!claimed || !*claimed) co_return claimed;
  }
  CO_TRY(done,
         co_await until_done(executor, signal, [&node](Instant turn) { return node.start(turn); }));
  co_return done;
}

// Starts to serve topics, unless a signal comes first.
Task<Result<void>> start_topics(World world, const ServePlan& plan, Served& served,
                                const OneShot<int>& signal) {
  if (!plan.kafka) co_return Result<void>();
  const Result<bool> started = co_await start_tablets(world, plan, served, signal);
  if (!started) co_return std::unexpected(started.error());
  if (!*started) co_return Result<void>();
  KafkaServerOptions options = *plan.kafka;
  options.node_id = static_cast<std::int32_t>(plan.self.value);
  CO_TRY(options.kafka, co_await numeric(served.lanes.lane(0), options.kafka));
  served.yt = std::make_unique<YtServer>(
      served.node, plan.http ? to_string(*plan.http) : to_string(plan.listen));
  served.yt_door = &served.yt->door();
  served.kafka = std::make_unique<KafkaServer>(served.lanes, served.node, std::move(options));
  KafkaServer& kafka = *served.kafka;
  const auto serving = co_await until_done(world.executor, signal,
                                           [&kafka](Instant turn) { return kafka.start(turn); });
  if (!serving) co_return std::unexpected(Error(serving.error()).within("--kafka"));
  watch_claim(served);
  co_return Result<void>();
}

// The address files in the folder of a running node. A server that failed because another one has
// the folder does not change them.
class FolderAddresses {
 public:
  explicit FolderAddresses(const std::optional<DataFolder>& folder) : folder_(folder) {}
  FolderAddresses(const FolderAddresses&) = delete;
  FolderAddresses& operator=(const FolderAddresses&) = delete;
  ~FolderAddresses() {
    if (!folder_) return;
    remove_node_address(*folder_);
    remove_kafka_address(*folder_);
  }

 private:
  const std::optional<DataFolder>& folder_;
};

// A device keeps the sizes that it was formatted with, whatever the config says by now.
void warn_of_sizes(const blob::NodeConfig& own, blob::BlobNode& storage) {
  const auto warn = [](std::string_view field, const blob::DeviceConfig& config,
                       std::uint64_t wanted, std::uint64_t kept) {
    log_warning(fmt::format("{} in the config is for a device that is created now; this one keeps "
                            "its own",
                            field),
                {{"path", config.path},
                 {"config", blob::print_size(wanted)},
                 {"device", blob::print_size(kept)}});
  };
  for (const blob::DeviceConfig& config : own.devices) {
    const blob::Device* const device = storage.device(config.id);
    if (device == nullptr) continue;
    const blob::Superblock& kept = device->superblock();
    if (config.size != kept.size) warn("size", config, config.size, kept.size);
    // A config without the field has this default by now.
    const bool given = config.segment_size != choose_segment_bytes(config.size);
    if (given && config.segment_size != kept.segment_bytes) {
      warn("segment_size", config, config.segment_size, kept.segment_bytes);
    }
  }
}

// Starts the node and serves until a signal comes.
Task<int> serve_node(const ServePlan& plan, Served& served, const TcpAddress& listen,
                     const HttpPages& pages, OneShot<int>& signal) {
  World world = served.lanes.first().world();
  const auto opened = co_await served.node.open();
  if (!opened) {
    const ExitCode reason = exit_code_of(opened.error().code);
    co_return report(reason == kExitUsage ? kExitData : reason, opened.error());
  }
  const FolderAddresses addresses(plan.folder);
  blob::BlobNode& storage = served.node.storage();
  warn_of_sizes(*plan.config.node(plan.self), storage);
  const NodeWatch watch(world.executor, storage, *plan.config.node(plan.self));
  served.groups.start();
  if (plan.folder) {
    co_await wait_until_ready(world.executor, storage, signal);
    const auto written = write_node_address(*plan.folder, listen);
    if (!written) co_return report(written.error());
  }
  const auto topics = co_await start_topics(world, plan, served, signal);
  if (!topics) co_return report(kExitData, topics.error());
  if (plan.folder && served.kafka) {
    const auto written = write_kafka_address(*plan.folder, served.kafka->address());
    if (!written) co_return report(written.error());
  }
  if (!signal.ready()) announce(plan, served, listen, pages);
  const int number = co_await signal;
  log_info("stopping", {{"signal", number}});
  co_return kExitOk;
}

NodeOptions node_options(const ServePlan& plan) {
  NodeOptions options;
  // A device that is missing from an existing folder is not created as a new one.
  options.storage.format_missing = plan.format_missing;
  plan.memory.apply_to(options);
  options.tables.clock.accept = clock_is_confirmed();
  return options;
}

Task<int> serve(RealLanes& lanes, Lane& background, const ServePlan& plan) {
  RealWorld& real = lanes.first();
  OneShot<int> signal;
  std::optional<SignalWatch> watch;
  watch.emplace(real.lane(), std::vector<int>{SIGINT, SIGTERM, SIGHUP}, [&signal](int number) {
    if (number == SIGHUP) {
      log_info("SIGHUP has no effect: options and config are read at the start", {});
    } else {
      signal.set(number);
    }
  });
  auto address = co_await numeric(real.lane(), plan.listen);
  if (!address) co_return report(kExitData, address.error());
  if (const auto listening = real.network().listen(*address); !listening) {
    co_return report(kExitData, listening.error());
  }
  const TcpAddress listen{plan.listen.host, real.network().port()};
  Node node(lanes.worlds(), background, plan.config, plan.self, node_options(plan));
  blob::GroupWatch groups(real.world(), node.storage());
  Served served{lanes, node, groups};
  HttpPages pages(served, plan, listen);
  int code = kExitData;
  if (const auto opened = co_await open_pages(real.lane(), plan, pages); !opened) {
    report(kExitData, opened.error());
  } else {
    code = co_await serve_node(plan, served, listen, pages, signal);
    co_await pages.stop();
  }
  watch.reset();  // From here on a second signal ends the program at once.
  co_await end_topics(served);
  co_await served.stops.join();
  co_await node.stop_tablets();
  if (served.claim) co_await served.claim->stop();
  co_await groups.stop();
  co_await node.stop();
  co_await stop_network(real.network());
  co_return code;
}

}  // namespace

int run_serve(const ServeOptions& options) {
  // SIGHUP from a closed terminal, or for a reload, must not end the process; serve() logs it.
  std::signal(SIGHUP, SIG_IGN);
  PortClaims claims;
  ServePlan plan;
  if (const auto failed = plan_serving(options, claims, plan)) return *failed;
  auto network = network_options(plan.config, plan.self);
  if (!network) return report(kExitData, network.error());
  RealLanes lanes(plan.lanes, "node", std::move(*network));
  LaneOptions long_work;
  long_work.name = "compaction";
  long_work.background = true;
  Lane background(long_work);
  lanes.start();
  background.start();
  const int code = lanes.first().run(serve(lanes, background, plan));
  background.stop();
  lanes.stop();
  return code;
}

}  // namespace moraine::app
