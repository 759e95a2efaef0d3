#include "app/serve_plan.h"

#include <fmt/format.h>

#include "app/exit_code.h"
#include "base/log.h"
#include "cluster/local/cluster_file.h"
#include "io/real/machine.h"

namespace moraine::app {
namespace {

constexpr std::uint64_t kTopicFolderBytesMin = std::uint64_t{256} << 20;

Result<DataFolder> make_folder(const ServeOptions& options) {
  NewFolder folder;
  if (!options.size.empty()) {
    TRY(folder.size, parse_device_size(options.size));
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
std::optional<int> plan_from_config(const ServeOptions& options, ServePlan& plan) {
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

// Waits for the devices of a process that was just killed.
std::optional<int> refuse_if_in_use(const blob::NodeConfig& own) {
  wait_for_devices(own, kDeviceReleaseWait);
  const auto busy = device_in_use(own);
  if (!busy) return std::nullopt;
  return report(kExitData, fmt::format("{}: {}", *busy, in_use_advice(*busy)));
}

std::optional<int> claim_addresses(const ServePlan& plan, PortClaims& claims) {
  Result<void> claimed;
  if (plan.http) claimed = claims.add("--http", *plan.http);
  if (claimed && plan.kafka) claimed = claims.add("--kafka", plan.kafka->kafka);
  const bool options_claimed = claimed.has_value();
  if (claimed && plan.listen.port != 0) claimed = claims.add("nodes[].port", plan.listen);
  if (claimed) return std::nullopt;
  const bool usage = !options_claimed && claimed.error().code == Errc::kInvalidArgument;
  return report(usage ? kExitUsage : kExitData, claimed.error());
}

std::optional<int> check_new_size(const ServeOptions& options, const ServePlan& plan) {
  if (options.size.empty()) return std::nullopt;
  const auto size = parse_device_size(options.size);
  if (!size) return report(kExitUsage, size.error());
  if (!plan.kafka || *size >= kTopicFolderBytesMin) return std::nullopt;
  return report(kExitUsage, fmt::format("--size {} is too small for topics, which need 256MiB; "
                                        "--kafka off serves blobs only",
                                        options.size));
}

void take_folder(DataFolder folder, ServePlan& plan) {
  plan.config = folder.config;
  plan.self = plan.config.nodes.front().id;
  plan.folder = std::move(folder);
}

// An existing folder is checked before the addresses, so that the error of a second server names
// the first one; a new folder is created after the addresses are bound.
std::optional<int> plan_from_folder(const ServeOptions& options, PortClaims& claims,
                                    ServePlan& plan) {
  const auto fresh = can_create_data_folder(options.data);
  if (!fresh) return report(fresh.error());
  plan.format_missing = *fresh;
  plan.listen = {"127.0.0.1", 0};
  if (*fresh) {
    if (const auto failed = check_new_size(options, plan)) return failed;
    if (const auto failed = claim_addresses(plan, claims)) return failed;
    auto folder = make_folder(options);
    if (!folder) return report(folder.error());
    take_folder(std::move(*folder), plan);
    return std::nullopt;
  }
  auto folder = open_data_folder(options.data);
  if (!folder) return report(folder.error());
  if (!options.size.empty()) {
    log_warning(
        "--size is for a folder that is created now; this one keeps its own",
        {{"folder", options.data}, {"size", folder->config.nodes.front().devices.front().size}});
  }
  take_folder(std::move(*folder), plan);
  if (const auto failed = refuse_if_in_use(plan.config.nodes.front())) return failed;
  return claim_addresses(plan, claims);
}

std::optional<int> plan_topics(const ServeOptions& options, ServePlan& plan) {
  if (options.kafka == "off") return std::nullopt;
  auto address = parse_address(options.kafka);
  if (!address) return report(kExitUsage, std::move(address).error().within("--kafka"));
  KafkaServerOptions& topics = plan.kafka.emplace();
  topics.kafka = std::move(*address);
  topics.advertised_host = options.advertise;
  const bool any = topics.kafka.host == "0.0.0.0" || topics.kafka.host == "::";
  if (any && options.advertise.empty()) {
    return report(kExitUsage, fmt::format("--kafka {} needs --kafka-host: the name or address that "
                                          "clients are to connect to",
                                          options.kafka));
  }
  plan.take_over = options.take_over;
  topics.auto_create_topics = !options.no_auto_create;
  topics.default_partitions = options.default_partitions;
  topics.request_bytes = plan.memory.requests;
  topics.response_bytes = plan.memory.answers;
  return std::nullopt;
}

std::optional<int> plan_memory(const ServeOptions& options, ServePlan& plan) {
  plan.memory = default_memory(machine_memory_bytes());
  if (!options.memory.empty()) {
    const auto bytes = blob::parse_size(options.memory);
    if (!bytes) return report(kExitUsage, bytes.error());
    if (*bytes < kNodeMemoryBytesMin) {
      return report(kExitUsage, fmt::format("--memory {}: a node needs at least {} MiB",
                                            options.memory, kNodeMemoryBytesMin >> 20));
    }
    plan.memory = share_memory(*bytes);
  }
  if (options.cache.empty()) return std::nullopt;
  const auto bytes = blob::parse_size(options.cache);
  if (!bytes) return report(kExitUsage, bytes.error());
  plan.memory.topic_cache = *bytes;
  return std::nullopt;
}

}  // namespace

std::optional<int> plan_serving(const ServeOptions& options, PortClaims& claims, ServePlan& plan) {
  plan.program = options.program;
  if (options.http != "off") {
    auto address = parse_address(options.http);
    if (!address) return report(kExitUsage, std::move(address).error().within("--http"));
    plan.http = std::move(*address);
  }
  if (options.grpc != "off") {
    auto address = parse_address(options.grpc);
    if (!address) return report(kExitUsage, std::move(address).error().within("--grpc"));
  }
  plan.lanes = options.lanes == 0 ? default_lanes() : options.lanes;
  if (const auto failed = plan_memory(options, plan)) return failed;
  if (const auto failed = plan_topics(options, plan)) return failed;
  if (!options.size.empty()) {
    const auto size = blob::parse_size(options.size);
    if (!size) return report(kExitUsage, size.error());
  }
  if (options.config.empty() && options.data.empty()) return report(kExitUsage, "--data is empty");
  if (options.config.empty()) return plan_from_folder(options, claims, plan);
  if (const auto failed = plan_from_config(options, plan)) return failed;
  if (const auto failed = refuse_if_in_use(*plan.config.node(plan.self))) return failed;
  return claim_addresses(plan, claims);
}

}  // namespace moraine::app
