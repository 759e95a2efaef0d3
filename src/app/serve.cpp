// moraine serve
#include <fmt/format.h>
#include <netdb.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "app/cluster_file.h"
#include "app/commands.h"
#include "app/data_folder.h"
#include "app/exit_code.h"
#include "app/http_pages.h"
#include "app/node_watch.h"
#include "app/serve_plan.h"
#include "app/served.h"
#include "base/log.h"
#include "io/real/signals.h"
#include "service/system_places.h"
#include "service/tablet_ids.h"

namespace moraine::app {
namespace {

constexpr Duration kReadyPoll = 1ms;
constexpr Duration kReadyWait = 30s;
constexpr Duration kTopicsStartTurn = 1s;  // Signals are checked after each.

Task<void> wait_until_ready(Executor& executor, blob::BlobNode& node, const OneShot<int>& signal) {
  const Instant deadline = executor.now() + kReadyWait;
  while (recovering_vdisks(node) > 0 && !signal.ready() && executor.now() < deadline) {
    co_await sleep_for(executor, kReadyPoll);
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

void announce(const ServePlan& plan, const Served& served, const TcpAddress& listen,
              const HttpPages& pages) {
  const std::string http_text =
      plan.http ? to_string(TcpAddress{plan.http->host, pages.port()}) : std::string("off");
  const std::string kafka_text =
      served.topics ? to_string(served.topics->kafka()) : std::string("off");
  fmt::print("listening http={} grpc=off kafka={} node={}\n", http_text, kafka_text,
             to_string(listen));
  std::fflush(stdout);
  fmt::print(stderr, "grpc: not served yet (docs/limits.md)\n");
  if (!plan.folder)
    fmt::print(stderr, "node {} of cluster {}\n", plan.self.value, plan.config.name);
  if (served.topics) {
    fmt::print(stderr, "try: echo hello | moraine topic write --kafka {} greetings\n", kafka_text);
    fmt::print(stderr, "     moraine topic read --kafka {} greetings\n", kafka_text);
  }
  if (plan.folder) {
    fmt::print(stderr, "try: echo hello | moraine blob put --data {} '[1:1:1:0:0:6:0]' -\n",
               plan.folder->path);
  }
  if (plan.http) fmt::print(stderr, "try: curl http://{}/status\n", http_text);
}

Task<Result<void>> open_pages(RealWorld& real, const ServePlan& plan, HttpPages& pages) {
  if (!plan.http) co_return Result<void>();
  CO_TRY(const TcpAddress address, co_await numeric(real.lane(), *plan.http));
  co_return pages.open(address);
}

// Retries `attempt` while it fails because of a timeout; nullopt: a signal came first.
template <class T>
Task<Result<std::optional<T>>> until_answered(RealWorld& real, const OneShot<int>& signal,
                                              std::function<Task<Result<T>>(Instant)> attempt) {
  bool logged = false;
  Executor& executor = real.world().executor;
  while (!signal.ready()) {
    const Instant turn = executor.now() + kTopicsStartTurn;
    auto result = co_await attempt(turn);
    if (result) co_return std::optional<T>(std::move(*result));
    const Errc code = result.error().code;
    if (code != Errc::kTimeout && code != Errc::kUnavailable) {
      co_return std::unexpected(std::move(result).error());
    }
    if (!std::exchange(logged, true)) {
      log_info("topics are being started", {{"so far", result.error().context}});
    }
    if (executor.now() < turn) co_await sleep_for(executor, turn - executor.now());
  }
  co_return std::optional<T>();
}

std::string kafka_text(const TopicNodeOptions& options, std::uint16_t port) {
  const bool own = options.advertised_host.empty();
  return to_string(TcpAddress{own ? options.kafka.host : options.advertised_host, port});
}

Task<Result<bool>> topics_started(TopicNode& topics, Instant deadline) {
  CO_TRY_VOID(co_await topics.start(deadline));
  co_return true;
}

// One node of a cluster serves topics. False: a signal came first.
Task<Result<bool>> claim_topics(RealWorld& real, const ServePlan& plan, Served& served,
                                const TopicNodeOptions& options, const OneShot<int>& signal) {
  if (plan.config.nodes.size() == 1) co_return true;
  ClaimHolder self;
  self.node = plan.self.value;
  self.address = kafka_text(options, options.kafka.port);
  ClaimOptions how;
  how.take_over = plan.take_over;
  blob::Proxy& group = *served.node.proxy(options.places.at(kSchemeTabletId));
  std::function<Task<Result<std::unique_ptr<TopicsClaim>>>(Instant)> take = [&](Instant) {
    return TopicsClaim::take(real.world(), group, self, how);
  };
  CO_TRY(auto taken, co_await until_answered(real, signal, std::move(take)));
  if (!taken) co_return false;
  served.claim = std::move(*taken);
  co_return true;
}

Task<void> end_topics(Served& served) {
  const std::unique_ptr<TopicNode> topics = std::move(served.topics);
  served.topics_elsewhere = true;
  if (topics) co_await topics->stop();
}

// After another node has taken the topics over, only the disks are served here.
void watch_claim(Served& served) {
  if (!served.claim) return;
  served.claim->set_address(to_string(served.topics->kafka()));
  if (served.claim->lost()) {
    served.stops.spawn(end_topics(served));
  } else {
    served.claim->on_lost([&served] { served.stops.spawn(end_topics(served)); });
  }
}

// Starts to serve topics, unless a signal comes first.
Task<Result<void>> start_topics(RealWorld& real, const ServePlan& plan, Served& served,
                                const OneShot<int>& signal) {
  if (!plan.topics) co_return Result<void>();
  TopicNodeOptions options = *plan.topics;
  options.node_id = static_cast<std::int32_t>(plan.self.value);
  CO_TRY(options.kafka, co_await numeric(real.lane(), options.kafka));
  std::vector<blob::GroupId> configured;
  for (const blob::GroupConfig& group : plan.config.groups) configured.push_back(group.id);
  std::function<Task<Result<SystemPlaces>>(Instant)> find = [&](Instant turn) {
    return find_system_places(real.world(), served.storage, configured, turn);
  };
  CO_TRY(auto places, co_await until_answered(real, signal, std::move(find)));
  if (!places) co_return Result<void>();
  options.places = std::move(*places);
  const auto claimed = co_await claim_topics(real, plan, served, options, signal);
  if (!claimed && claimed.error().code == Errc::kConflict) {
    log_error("topics are not served here", {{"why", claimed.error().context}});
    served.topics_elsewhere = true;
    co_return Result<void>();
  }
  if (!claimed) co_return std::unexpected(claimed.error());
  if (!*claimed) co_return Result<void>();
  served.topics = std::make_unique<TopicNode>(real, served.node, std::move(options));
  std::function<Task<Result<bool>>(Instant)> start = [&](Instant turn) {
    return topics_started(*served.topics, turn);
  };
  auto started = co_await until_answered(real, signal, std::move(start));
  if (!started) co_return std::unexpected(std::move(started).error().within("--kafka"));
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

// Starts the node and serves until a signal comes.
Task<int> serve_node(RealWorld& real, const ServePlan& plan, Served& served,
                     const TcpAddress& listen, const HttpPages& pages, OneShot<int>& signal) {
  World world = real.world();
  const auto started = co_await served.node.start();
  if (!started) {
    const ExitCode reason = exit_code_of(started.error().code);
    co_return report(reason == kExitUsage ? kExitData : reason, started.error());
  }
  served.devices_open = true;
  const FolderAddresses addresses(plan.folder);
  const NodeWatch watch(world.executor, served.node, *plan.config.node(plan.self));
  served.groups.start();
  if (plan.folder) {
    co_await wait_until_ready(world.executor, served.node, signal);
    const auto written = write_node_address(*plan.folder, listen);
    if (!written) co_return report(written.error());
  }
  const auto topics = co_await start_topics(real, plan, served, signal);
  if (!topics) co_return report(kExitData, topics.error());
  if (plan.folder && served.topics) {
    const auto written = write_kafka_address(*plan.folder, served.topics->kafka());
    if (!written) co_return report(written.error());
  }
  if (!signal.ready()) announce(plan, served, listen, pages);
  const int number = co_await signal;
  log_info("stopping", {{"signal", number}});
  co_return kExitOk;
}

Task<int> serve(RealWorld& real, const ServePlan& plan) {
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
  blob::BlobNodeOptions node_options;
  // A device that is missing from an existing folder is not created as a new one.
  node_options.format_missing = plan.format_missing;
  blob::BlobNode node(real.world(), plan.config, plan.self, node_options);
  blob::GroupWatch groups(real.world(), node);
  Served served{real, node, groups};
  HttpPages pages(served, plan, listen);
  int code = kExitData;
  if (const auto opened = co_await open_pages(real, plan, pages); !opened) {
    report(kExitData, opened.error());
  } else {
    code = co_await serve_node(real, plan, served, listen, pages, signal);
    co_await pages.stop();
  }
  watch.reset();  // From here on a second signal ends the program at once.
  co_await end_topics(served);
  co_await served.stops.join();
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
  LaneOptions lane;
  lane.name = "node";
  RealWorld world(lane, std::move(*network));
  return world.run(serve(world, plan));
}

}  // namespace moraine::app
