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
#include "app/http_server.h"
#include "app/node_report.h"
#include "app/node_watch.h"
#include "app/topic_node.h"
#include "base/log.h"
#include "io/real/real_world.h"
#include "io/real/signals.h"

namespace moraine::app {
namespace {

constexpr Duration kReadyPoll = 1ms;
constexpr Duration kReadyWait = 30s;
constexpr Duration kTopicsStartTurn = 1s;  // After each, a signal is looked at.
constexpr std::uint64_t kTopicFolderBytesMin = std::uint64_t{256} << 20;

struct Plan {
  blob::ClusterConfig config;
  NodeId self;
  TcpAddress listen;
  std::optional<DataFolder> folder;
  std::optional<TcpAddress> http;  // nullopt: off.
  std::optional<TopicNodeOptions> topics;
  bool format_missing = true;  // Devices that are not there are new ones.
};

// What of a process answers requests.
struct Served {
  RealWorld& real;
  blob::BlobNode& node;
  blob::GroupWatch& groups;
  std::unique_ptr<TopicNode> topics;  // Null: none, or not yet.
};

void answer(const Served& served, const Plan& plan, const TcpAddress& listen,
            const std::string& path, HttpAnswer reply) {
  const blob::BlobNode& node = served.node;
  const auto view = [&] {
    return NodeView{served.node, plan.self, served.groups, served.real.network().peers(),
                    served.real.lane().now()};
  };
  const std::string json = "application/json";
  if (path == "/ping") {
    reply({200, "text/plain; charset=utf-8", "ok\n"});
  } else if (path == "/status") {
    reply({200, json, node_status(view())});
  } else if (path == "/metrics") {
    std::string text = node_metrics(view());
    if (served.topics) text += served.topics->metrics();
    reply({200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)});
  } else if (path == "/cluster.yaml") {
    // With the port that was really taken.
    reply({200, "application/yaml",
           to_yaml(plan.folder ? with_address(node.config(), listen) : node.config())});
  } else {
    reply({404, "text/plain; charset=utf-8",
           "here are /ping, /status, /metrics and /cluster.yaml\n"});
  }
}

Task<void> wait_until_ready(Executor& executor, blob::BlobNode& node, const OneShot<int>& signal) {
  const Instant deadline = executor.now() + kReadyWait;
  while (recovering_vdisks(node) > 0 && !signal.ready() && executor.now() < deadline) {
    co_await sleep_for(executor, kReadyPoll);
  }
}

// A name becomes the number that can be bound.
Task<Result<TcpAddress>> numeric(Lane& lane, TcpAddress address) {
  CO_TRY(const std::vector<SocketAddress> found, co_await resolve(lane, address));
  char host[NI_MAXHOST];
  const auto* raw = reinterpret_cast<const sockaddr*>(&found.front().storage);
  const int status =
      getnameinfo(raw, found.front().size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  if (status != 0) co_return fail(Errc::kInvalidArgument, gai_strerror(status));
  co_return TcpAddress{host, address.port};
}

void announce(const Plan& plan, const Served& served, const TcpAddress& listen,
              const HttpServer* http) {
  const std::string http_text =
      http ? to_string(TcpAddress{plan.http->host, http->port()}) : std::string("off");
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
  if (http) fmt::print(stderr, "try: curl http://{}/status\n", http_text);
}

// Answers from before the node is up until it goes down: how far it is can always be asked.
Result<std::unique_ptr<HttpServer>> start_http(Executor& executor, const Plan& plan,
                                               const Served& served, const TcpAddress& listen) {
  if (!plan.http) return std::unique_ptr<HttpServer>();
  // Called on the server's thread; the node belongs to the executor.
  HttpHandler handler = [&](std::string path, HttpAnswer reply) {
    executor.post([&, path = std::move(path), reply = std::move(reply)]() mutable {
      answer(served, plan, listen, path, std::move(reply));
    });
  };
  return HttpServer::start(*plan.http, std::move(handler));
}

// Starts serving topics; nothing is served when a signal comes first.
Task<Result<void>> start_topics(RealWorld& real, const Plan& plan, Served& served,
                                const OneShot<int>& signal) {
  if (!plan.topics) co_return Result<void>();
  TopicNodeOptions options = *plan.topics;
  options.node_id = static_cast<std::int32_t>(plan.self.value);
  CO_TRY(options.kafka, co_await numeric(real.lane(), options.kafka));
  served.topics = std::make_unique<TopicNode>(real, served.node, std::move(options));
  bool told = false;
  while (!signal.ready()) {
    Executor& executor = real.world().executor;
    const auto started = co_await served.topics->start(executor.now() + kTopicsStartTurn);
    if (started) co_return started;
    if (started.error().code != Errc::kTimeout) {
      co_return std::unexpected(Error(started.error()).within("--kafka"));
    }
    if (!std::exchange(told, true))
      log_info("topics are being started", {{"so far", started.error().context}});
  }
  co_return Result<void>();
}

// The addresses that the folder of a running node tells. A server that was refused because another
// has the folder leaves the other's alone.
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

// Brings the node up and serves until a signal comes.
Task<int> serve_node(RealWorld& real, const Plan& plan, Served& served, const TcpAddress& listen,
                     const HttpServer* http, OneShot<int>& signal) {
  World world = real.world();
  const auto started = co_await served.node.start();
  if (!started) {
    const ExitCode reason = exit_code_of(started.error().code);
    co_return report(reason == kExitUsage ? kExitData : reason, started.error());
  }
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
  if (!signal.ready()) announce(plan, served, listen, http);
  const int number = co_await signal;
  log_info("stopping", {{"signal", number}});
  co_return kExitOk;
}

Task<int> serve(RealWorld& real, const Plan& plan) {
  OneShot<int> signal;
  std::optional<SignalWatch> watch;
  watch.emplace(real.lane(), std::vector<int>{SIGINT, SIGTERM},
                [&signal](int number) { signal.set(number); });
  auto address = co_await numeric(real.lane(), plan.listen);
  if (!address) co_return report(kExitData, address.error());
  if (const auto listening = real.network().listen(*address); !listening) {
    co_return report(kExitData, listening.error());
  }
  const TcpAddress listen{plan.listen.host, real.network().port()};
  blob::BlobNodeOptions node_options;
  // A device that went missing from a folder in use is not taken for a new one.
  node_options.format_missing = plan.format_missing;
  blob::BlobNode node(real.world(), plan.config, plan.self, node_options);
  blob::GroupWatch groups(real.world(), node);
  Served served{real, node, groups, nullptr};
  auto http = start_http(real.world().executor, plan, served, listen);
  int code = kExitData;
  if (!http) {
    report(kExitData, http.error());
  } else {
    code = co_await serve_node(real, plan, served, listen, http->get(), signal);
    http->reset();
    // Requests that the server posted before it ended run now, while the node is still there.
    co_await yield(real.world().executor);
  }
  watch.reset();  // From here on a second signal ends the program at once.
  if (served.topics) co_await served.topics->stop();
  served.topics.reset();
  co_await groups.stop();
  co_await node.stop();
  co_await stop_network(real.network());
  co_return code;
}

Result<DataFolder> open_or_create(const ServeOptions& options) {
  TRY(const bool fresh, can_create_data_folder(options.data));
  if (!fresh) return open_data_folder(options.data);
  NewFolder folder;
  if (!options.size.empty()) {
    TRY(folder.size, blob::parse_size(options.size));
  }
  TRY(DataFolder made, create_data_folder(options.data, folder));
  log_info("data folder made",
           {{"path", made.path}, {"size", made.config.nodes.front().devices.front().size}});
  return made;
}

// The node of the config that this process is.
Result<NodeId> choose_node(const ServeOptions& options, const blob::ClusterConfig& config) {
  if (options.node == 0) {
    if (config.nodes.size() == 1) return config.nodes.front().id;
    return fail(Errc::kInvalidArgument,
                fmt::format("{} has {} nodes: --node says which one this is", options.config,
                            config.nodes.size()));
  }
  if (config.node(NodeId{options.node})) return NodeId{options.node};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} has no node {}", options.config, options.node));
}

// Gives an exit code when there is nothing to serve.
std::optional<int> plan_from_config(const ServeOptions& options, Plan& plan) {
  auto config = load_cluster_file(options.config);
  if (!config) return report(kExitData, config.error());
  const auto self = choose_node(options, *config);
  if (!self) return report(kExitUsage, self.error());
  plan.config = std::move(*config);
  plan.self = *self;
  const blob::NodeConfig& own = *plan.config.node(plan.self);
  plan.listen = {own.host, own.port};
  for (const std::string& warning : blob::warnings(plan.config)) {
    log_warning("config", {{"what", warning}});
  }
  return std::nullopt;
}

std::optional<int> plan_from_folder(const ServeOptions& options, Plan& plan) {
  const auto fresh = can_create_data_folder(options.data);
  plan.format_missing = fresh && *fresh;
  if (plan.format_missing && plan.topics && !options.size.empty()) {
    const auto size = blob::parse_size(options.size);
    if (size && *size < kTopicFolderBytesMin) {
      return report(kExitUsage, fmt::format("--size {} is too small for topics, which need 256MiB; "
                                            "--kafka off serves blobs alone",
                                            options.size));
    }
  }
  auto folder = open_or_create(options);
  if (!folder) return report(folder.error());
  if (!plan.format_missing && !options.size.empty()) {
    log_warning(
        "--size is for a folder that is made now; this one keeps its own",
        {{"folder", options.data}, {"size", folder->config.nodes.front().devices.front().size}});
  }
  plan.config = folder->config;
  plan.self = plan.config.nodes.front().id;
  plan.listen = {"127.0.0.1", 0};
  plan.folder = std::move(*folder);
  return std::nullopt;
}

}  // namespace

int run_serve(const ServeOptions& options) {
  std::optional<TcpAddress> http;
  if (options.http != "off") {
    auto address = parse_address(options.http);
    if (!address) return report(kExitUsage, address.error());
    http = std::move(*address);
  }
  if (options.grpc != "off") {
    const auto address = parse_address(options.grpc);
    if (!address) return report(kExitUsage, address.error());
  }
  std::optional<TopicNodeOptions> topics;
  if (options.kafka != "off") {
    auto address = parse_address(options.kafka);
    if (!address) return report(kExitUsage, address.error());
    topics.emplace();
    topics->kafka = std::move(*address);
    topics->advertised_host = options.advertise;
    const bool any = topics->kafka.host == "0.0.0.0" || topics->kafka.host == "::";
    if (any && options.advertise.empty()) {
      return report(kExitUsage,
                    fmt::format("--kafka {} needs --kafka-host: the name or address that "
                                "clients are to connect to",
                                options.kafka));
    }
    topics->auto_create_topics = !options.no_auto_create;
    topics->default_partitions = options.default_partitions;
    if (!options.cache.empty()) {
      const auto bytes = blob::parse_size(options.cache);
      if (!bytes) return report(kExitUsage, bytes.error());
      topics->cache_bytes = *bytes;
    }
  }
  if (!options.size.empty()) {
    const auto size = blob::parse_size(options.size);
    if (!size) return report(kExitUsage, size.error());
  }
  Plan plan;
  plan.http = std::move(http);
  plan.topics = std::move(topics);
  const auto failed =
      options.config.empty() ? plan_from_folder(options, plan) : plan_from_config(options, plan);
  if (failed) return *failed;
  auto network = network_options(plan.config, plan.self);
  if (!network) return report(kExitData, network.error());
  wait_for_devices(*plan.config.node(plan.self), kDeviceReleaseWait);
  LaneOptions lane;
  lane.name = "node";
  RealWorld world(lane, std::move(*network));
  return world.run(serve(world, plan));
}

}  // namespace moraine::app
