#include "app/blob_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "app/exit_code.h"
#include "blob/group/quorum.h"
#include "blob/node/blob_node.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/data_folder.h"
#include "cluster/local/http_get.h"

namespace moraine::app {
namespace {

constexpr Duration kProbeTimeout = 5s;
constexpr Duration kReadyPoll = 1ms;
constexpr Duration kStragglerWait = 2s;
constexpr Duration kNodePoll = 200ms;
constexpr std::size_t kShownIdBytes = 80;  // Of a wrong id, in its error.

// The deadline of the command, counted from its start.
class Patience {
 public:
  explicit Patience(const TargetOptions& options)
      : until_(std::chrono::steady_clock::now() +
               std::chrono::duration_cast<Duration>(
                   std::chrono::duration<double>(options.timeout_seconds))) {}

  Duration left() const {
    const auto rest = until_ - std::chrono::steady_clock::now();
    return std::max(std::chrono::duration_cast<Duration>(rest), Duration::zero());
  }
  Instant deadline(const Executor& executor) const { return executor.now() + left(); }
  // At most `most` of it.
  Duration share(Duration most) const { return std::min(most, left()); }

 private:
  std::chrono::steady_clock::time_point until_;
};

// Errors of a failed device become that device's failure.
int code_with_devices(int code, blob::BlobNode& node, const blob::NodeConfig& own) {
  const bool failed = std::ranges::any_of(own.devices, [&](const blob::DeviceConfig& config) {
    const blob::Device* device = node.device(config.id);
    return device && device->failure();
  });
  return code == kExitNegative && failed ? kExitIo : code;
}

// Waits until every disk is ready, or until a quorum is and the rest had time to become ready.
Task<void> wait_until_ready(World world, const blob::BlobNode& node, blob::GroupConfig group,
                            Instant deadline) {
  const Instant patient_until = world.executor.now() + kStragglerWait;
  for (;;) {
    bool recovering = false;
    blob::DiskSet ready = 0;
    for (std::uint32_t order = 0; order < group.disks.size(); ++order) {
      const auto found = node.vdisks().find(group.disks[order]);
      if (found == node.vdisks().end()) continue;
      const blob::VDisk::Phase phase = found->second->phase();
      if (phase == blob::VDisk::Phase::kRecovering) recovering = true;
      if (phase == blob::VDisk::Phase::kReady) ready |= blob::disk_bit(order);
    }
    const Instant now = world.executor.now();
    const bool enough = now >= patient_until && group_quorum(group.geometry, ready);
    if (!recovering || enough || now >= deadline) co_return;
    co_await sleep_for(world.executor, kReadyPoll);
  }
}

// nullopt: another process has the devices open.
Task<std::optional<int>> run_inside(World world, blob::ClusterConfig config, blob::GroupId group,
                                    const Patience& patience, const BlobCommand& command) {
  const Instant deadline = patience.deadline(world.executor);
  blob::BlobNodeOptions node_options;
  node_options.format_missing = false;
  node_options.open_deadline = deadline;
  blob::BlobNode node(world, config, config.nodes.front().id, node_options);
  const auto started = co_await node.start();
  if (!started) {
    co_await node.stop();
    if (device_in_use(config.nodes.front())) co_return std::nullopt;
    if (started.error().code == Errc::kTimeout) {
      co_return report(blob::Status::kDeadline, started.error().context);
    }
    // An error in the bytes of a folder is not wrong usage.
    const ExitCode code = exit_code_of(started.error().code);
    co_return report(code == kExitUsage ? kExitData : code, started.error());
  }
  co_await wait_until_ready(world, node, *config.group(group), deadline);
  const BlobTarget target{*node.proxy(group), *config.group(group), world.executor, deadline};
  const int code = code_with_devices(co_await command(target), node, config.nodes.front());
  co_await node.stop();
  co_return code;
}

// Whether any node of the group answers; any reply counts.
Task<Result<void>> probe(World world, blob::GroupConfig group, Duration timeout) {
  Result<void> outcome = fail(Errc::kUnavailable, "the group has no disks");
  NodeId previous;
  for (const blob::DiskAddress& disk : group.disks) {
    if (disk.node == previous) continue;
    previous = disk.node;
    const auto reply =
        co_await world.network.call(disk.node, Slice(), world.executor.now() + timeout);
    if (reply) co_return Result<void>();
    outcome = std::unexpected(reply.error());
  }
  co_return outcome;
}

Task<int> run_outside(World world, blob::GroupConfig group, bool must_reach,
                      const Patience& patience, const BlobCommand& command) {
  if (must_reach) {
    const auto reached = co_await probe(world, group, patience.share(kProbeTimeout));
    if (!reached) co_return report(kExitUnreachable, reached.error());
  }
  GuestClient guest(world, group);
  const BlobTarget target{guest.proxy(), group, world.executor, patience.deadline(world.executor)};
  const int code = co_await command(target);
  co_await guest.stop();
  co_return code;
}

int run_as_guest(const blob::ClusterConfig& config, const TargetOptions& options,
                 const Patience& patience, const BlobCommand& command) {
  const auto group = choose_group(config, options.group);
  if (!group) return report(kExitUsage, group.error());
  auto network = network_options(config, NodeId{});
  if (!network) return report(kExitData, network.error());
  LaneOptions lane;
  lane.name = "guest";
  RealWorld world(lane, std::move(*network));
  const int code = world.run(run_outside(world.world(), *config.group(*group),
                                         !options.tells_of_silence, patience, command));
  world.run(stop_network(world.network()));
  return code;
}

// nullopt: another process has the folder open.
std::optional<int> run_on_own(const DataFolder& folder, blob::GroupId group,
                              const Patience& patience, const BlobCommand& command) {
  auto network = network_options(folder.config, folder.config.nodes.front().id);
  if (!network) return report(kExitData, network.error());
  RealWorld world({}, std::move(*network));
  return world.run(run_inside(world.world(), folder.config, group, patience, command));
}

int run_on_folder(const TargetOptions& options, const Patience& patience,
                  const BlobCommand& command) {
  const auto folder = open_data_folder(options.data.empty() ? kDefaultData : options.data);
  if (!folder) return report(kExitData, folder.error());
  const auto group = choose_group(folder->config, options.group);
  if (!group) return report(kExitUsage, group.error());
  if (const auto code = run_on_own(*folder, *group, patience, command)) return *code;
  const auto address = read_node_address(*folder);
  if (address && *address && can_connect(**address, patience.share(kProbeTimeout))) {
    return run_as_guest(with_address(folder->config, **address), options, patience, command);
  }
  // No server answers: the holder is a command that ends soon, or a server that was killed.
  wait_for_devices(folder->config.nodes.front(), patience.share(kDeviceReleaseWait));
  if (const auto code = run_on_own(*folder, *group, patience, command)) return *code;
  const auto busy = device_in_use(folder->config.nodes.front());
  return report(kExitData, fmt::format("{}: {}", folder->path,
                                       in_use_advice(busy.value_or(folder->path + "/device-1"))));
}

Result<blob::ClusterConfig> ask_for_config(const TargetOptions& options, const Patience& patience) {
  TRY(const TcpAddress address, parse_address(options.node));
  auto text = http_get(address, "/cluster.yaml", patience.left());
  while (!text && options.wait_for_node && patience.left() > Duration::zero()) {
    std::this_thread::sleep_for(patience.share(kNodePoll));
    text = http_get(address, "/cluster.yaml", patience.left());
  }
  if (!text) return std::unexpected(text.error());
  return blob::parse_cluster_config(*text);
}

int run_on_node(const TargetOptions& options, const Patience& patience,
                const BlobCommand& command) {
  if (const auto address = parse_address(options.node); !address) {
    return report(kExitUsage, address.error());
  }
  const auto config = ask_for_config(options, patience);
  if (!config) return report(kExitUnreachable, config.error());
  return run_as_guest(*config, options, patience, command);
}

}  // namespace

GuestClient::GuestClient(World world, const blob::GroupConfig& group)
    : endpoints_(world.network, world.executor, services_), proxy_(world, group, endpoints_) {}

Result<blob::ClusterConfig> config_of_target(const TargetOptions& options) {
  if (!options.node.empty()) return ask_for_config(options, Patience(options));
  if (!options.config.empty()) return load_cluster_file(options.config);
  TRY(DataFolder folder, open_data_folder(options.data.empty() ? kDefaultData : options.data));
  return std::move(folder.config);
}

int run_on_target(const TargetOptions& options, const BlobCommand& command) {
  const Patience patience(options);
  if (!options.node.empty()) return run_on_node(options, patience, command);
  if (options.config.empty()) return run_on_folder(options, patience, command);
  const auto config = load_cluster_file(options.config);
  if (!config) return report(kExitData, config.error());
  return run_as_guest(*config, options, patience, command);
}

Result<blob::BlobId> parse_id(std::string_view text) {
  if (text.contains(':') && !text.starts_with('[') && !text.ends_with(']')) {
    return blob::BlobId::parse(fmt::format("[{}]", text));
  }
  const bool hex = text.size() == 2 * blob::kBlobIdBytes;
  if (!text.starts_with('[') && !text.ends_with(']') && !hex) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("blob id {:?}: write TABLET:GENERATION:STEP:CHANNEL:COOKIE:SIZE:0, e.g. "
                    "1:1:1:0:0:6:0, or 50 hex digits",
                    text.substr(0, kShownIdBytes)));
  }
  return blob::BlobId::parse(text);
}

}  // namespace moraine::app
