#include "crash/servers.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "cluster/local/cluster_file.h"
#include "cluster/local/data_folder.h"
#include "cluster/local/files.h"

namespace moraine::crash {
namespace {

constexpr Duration kStartTimeout = 120s;
// Below the ephemeral port range, so that no connection takes a port between two runs.
constexpr std::uint64_t kPortMin = 20'000;
constexpr std::uint64_t kPortCount = 10'000;
constexpr int kPortTries = 1'000;

// How a group is spread over processes: any one process may be lost.
struct Layout {
  std::uint32_t nodes;
  std::uint32_t devices;  // Of each node.
};
Layout layout_of(blob::Species species) {
  return species == blob::Species::kBlock42 ? Layout{4, 2} : Layout{3, 3};
}

Result<std::uint16_t> free_port(Random& random) {
  for (int i = 0; i < kPortTries; ++i) {
    const auto port = static_cast<std::uint16_t>(kPortMin + random.below(kPortCount));
    TRY(const SocketAddress address, resolve_numeric({"127.0.0.1", port}));
    const auto listener = open_listener(address);
    if (!listener) continue;
    close(*listener);
    return port;
  }
  return fail(Errc::kUnavailable, "no free port");
}

Result<blob::ClusterConfig> plan_cluster(const ServersOptions& options, Random& random) {
  blob::ClusterConfig config;
  config.name = "crash";
  blob::GroupConfig group;
  group.id = kFolderGroup;
  group.geometry = blob::Geometry::standard(options.species);
  const Layout layout = layout_of(options.species);
  for (std::uint32_t n = 1; n <= layout.nodes; ++n) {
    blob::NodeConfig node;
    node.id = NodeId{n};
    node.host = "127.0.0.1";
    TRY(node.port, free_port(random));
    for (std::uint32_t d = 1; d <= layout.devices; ++d) {
      node.devices.push_back({d, fmt::format("node-{}-device-{}", n, d), options.device_bytes, 0});
      group.disks.push_back({node.id, d, 0});
    }
    config.nodes.push_back(std::move(node));
  }
  config.groups.push_back(std::move(group));
  TRY_VOID(check(config));
  return config;
}

}  // namespace

Result<Servers> Servers::prepare(const ServersOptions& options, Random& random) {
  if (options.species == blob::Species::kNone) {
    NewFolder fresh;
    fresh.size = options.device_bytes;
    TRY(DataFolder folder, create_data_folder(options.folder + "/data", fresh));
    Servers servers(options, std::move(folder.config));
    if (options.kafka) {
      TRY(const std::uint16_t port, free_port(random));
      servers.kafka_ = to_string(TcpAddress{"127.0.0.1", port});
    }
    return servers;
  }
  TRY(const blob::ClusterConfig config, plan_cluster(options, random));
  const std::string path = options.folder + "/cluster.yaml";
  TRY_VOID(write_text(path, to_yaml(config)));
  TRY(blob::ClusterConfig loaded, load_cluster_file(path));
  return Servers(options, std::move(loaded));
}

std::vector<NodeId> Servers::nodes() const {
  std::vector<NodeId> nodes;
  nodes.reserve(config_.nodes.size());
  for (const blob::NodeConfig& node : config_.nodes) nodes.push_back(node.id);
  return nodes;
}

std::vector<std::string> Servers::arguments(NodeId node) const {
  std::vector<std::string> arguments{options_.binary, "serve", "--log-level", "warning"};
  if (single()) {
    arguments.insert(arguments.end(),
                     {"--data", options_.folder + "/data", "--http", "off", "--kafka", kafka_});
  } else {
    arguments.insert(arguments.end(), {"--config", options_.folder + "/cluster.yaml", "--node",
                                       std::to_string(node.value), "--http", "off"});
  }
  return arguments;
}

Result<void> Servers::start(NodeId node) {
  app::ChildOptions options;
  options.arguments = arguments(node);
  options.errors = log_path();
  TRY(app::ChildProcess child, app::ChildProcess::start(options));
  const auto line = child.read_line(kStartTimeout);
  const std::string mark = " node=";
  const std::size_t at = line ? line->find(mark) : std::string::npos;
  if (at == std::string::npos) {
    return fail(Errc::kUnavailable, fmt::format("node {} does not start: {}; see {}", node.value,
                                                line ? *line : line.error().message(), log_path()));
  }
  TRY(addresses_[node], parse_address(line->substr(at + mark.size())));
  running_.erase(node);
  running_.emplace(node, std::move(child));
  return {};
}

Result<void> Servers::start_all() {
  for (const NodeId node : nodes()) {
    const auto found = running_.find(node);
    if (found != running_.end() && found->second.running()) continue;
    TRY_VOID(start(node));
  }
  return {};
}

void Servers::kill(NodeId node) {
  const auto found = running_.find(node);
  if (found == running_.end()) return;
  found->second.send(SIGKILL);
  found->second.wait();
  running_.erase(found);
}

Result<void> Servers::stop_all() {
  for (auto& [node, child] : running_) child.send(SIGTERM);
  for (auto& [node, child] : running_) {
    const int code = child.wait();
    if (code != 0) {
      return fail(Errc::kIo, fmt::format("node {} ended with {} on SIGTERM; see {}", node.value,
                                         code, log_path()));
    }
  }
  running_.clear();
  return {};
}

Result<void> Servers::check() const {
  app::ChildOptions options;
  options.arguments = {options_.binary, "blob", "check"};
  if (single()) {
    options.arguments.insert(options.arguments.end(), {"--data", options_.folder + "/data"});
  } else {
    options.arguments.insert(options.arguments.end(),
                             {"--config", options_.folder + "/cluster.yaml"});
  }
  options.output = options_.folder + "/check.out";
  options.errors = log_path();
  TRY(app::ChildProcess child, app::ChildProcess::start(options));
  const int code = child.wait();
  if (code == 0) return {};
  return fail(Errc::kCorrupt,
              fmt::format("moraine blob check ended with {}; see {}", code, options.output));
}

}  // namespace moraine::crash
