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
#include "base/log.h"
#include "io/real/real_world.h"
#include "io/real/signals.h"

namespace moraine::app {
namespace {

constexpr Duration kReadyPoll = 1ms;
constexpr Duration kReadyWait = 30s;
constexpr Duration kFailurePoll = 1s;

struct Plan {
  blob::ClusterConfig config;
  NodeId self;
  TcpAddress listen;
  std::optional<DataFolder> folder;
  std::optional<TcpAddress> http;  // nullopt: off.
  bool format_missing = true;      // Devices that are not there are new ones.
};

// Logs the failure of a device once, when it shows.
class FailureWatch {
 public:
  FailureWatch(Executor& executor, blob::BlobNode& node, const blob::NodeConfig& own)
      : executor_(executor), node_(node) {
    for (const blob::DeviceConfig& device : own.devices) well_.push_back(device.id);
    look();
  }
  FailureWatch(const FailureWatch&) = delete;
  FailureWatch& operator=(const FailureWatch&) = delete;
  ~FailureWatch() { executor_.cancel(timer_); }

 private:
  void look() {
    std::erase_if(well_, [this](std::uint32_t id) {
      const blob::Device* device = node_.device(id);
      if (!device || !device->failure()) return false;
      log_error("device failed; nothing more is written to it until the next start",
                {{"path", device->path()}, {"why", *device->failure()}});
      return true;
    });
    timer_ = executor_.schedule(executor_.now() + kFailurePoll, [this] { look(); });
  }

  Executor& executor_;
  blob::BlobNode& node_;
  std::vector<std::uint32_t> well_;
  TimerId timer_;
};

void answer(blob::BlobNode& node, const Plan& plan, const TcpAddress& listen,
            const std::string& path, HttpAnswer reply) {
  const std::string json = "application/json";
  if (path == "/ping") {
    reply({200, "text/plain; charset=utf-8", "ok\n"});
  } else if (path == "/status") {
    reply({200, json, node_status(node, plan.self)});
  } else if (path == "/metrics") {
    reply({200, "text/plain; version=0.0.4; charset=utf-8", node_metrics(node, plan.self)});
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
  const auto recovering = [&node] {
    for (const auto& [address, disk] : node.vdisks()) {
      if (disk->phase() == blob::VDisk::Phase::kRecovering) return true;
    }
    return false;
  };
  while (recovering() && !signal.ready() && executor.now() < deadline) {
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

void announce(const Plan& plan, const TcpAddress& listen, const HttpServer* http) {
  const std::string http_text =
      http ? to_string(TcpAddress{plan.http->host, http->port()}) : std::string("off");
  fmt::print("listening http={} grpc=off kafka=off node={}\n", http_text, to_string(listen));
  std::fflush(stdout);
  fmt::print(stderr, "grpc and kafka: not served yet (docs/limits.md)\n");
  if (plan.folder) {
    fmt::print(stderr, "try: echo hello | moraine blob put --data {} '[1:1:1:0:0:6:0]' -\n",
               plan.folder->path);
  } else {
    fmt::print(stderr, "node {} of cluster {}\n", plan.self.value, plan.config.name);
  }
  if (http) fmt::print(stderr, "try: curl http://{}/status\n", http_text);
}

// The node is up: serve until a signal comes.
Task<int> serve_node(RealWorld& real, const Plan& plan, blob::BlobNode& node,
                     const TcpAddress& listen, OneShot<int>& signal) {
  World world = real.world();
  if (plan.folder) co_await wait_until_ready(world.executor, node, signal);
  std::unique_ptr<HttpServer> http;
  if (plan.http) {
    // On the server's thread; the node belongs to the lane.
    HttpHandler handler = [&](std::string path, HttpAnswer reply) {
      world.executor.post([&, path = std::move(path), reply = std::move(reply)]() mutable {
        answer(node, plan, listen, path, std::move(reply));
      });
    };
    auto started = HttpServer::start(*plan.http, std::move(handler));
    if (!started) co_return report(kExitData, started.error());
    http = std::move(*started);
  }
  if (plan.folder) {
    const auto written = write_node_address(*plan.folder, listen);
    if (!written) co_return report(written.error());
  }
  const FailureWatch watch(world.executor, node, *plan.config.node(plan.self));
  announce(plan, listen, http.get());
  const int number = co_await signal;
  log_info("stopping", {{"signal", number}});
  http.reset();
  // Requests that the server posted before it ended run now, while the node is still there.
  co_await yield(world.executor);
  if (plan.folder) remove_node_address(*plan.folder);
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
  const auto started = co_await node.start();
  int code = kExitOk;
  if (!started) {
    const ExitCode reason = exit_code_of(started.error().code);
    code = report(reason == kExitUsage ? kExitData : reason, started.error());
  } else {
    code = co_await serve_node(real, plan, node, listen, signal);
  }
  watch.reset();  // From here on a second signal ends the program at once.
  co_await node.stop();
  co_await real.network().stop();
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
  auto folder = open_or_create(options);
  if (!folder) return report(folder.error());
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
  for (const std::string& text : {options.grpc, options.kafka}) {
    const auto address = text == "off" ? TcpAddress{} : parse_address(text);
    if (!address) return report(kExitUsage, address.error());
  }
  if (!options.size.empty()) {
    const auto size = blob::parse_size(options.size);
    if (!size) return report(kExitUsage, size.error());
  }
  Plan plan;
  plan.http = std::move(http);
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
