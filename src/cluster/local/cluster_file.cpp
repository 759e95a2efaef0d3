#include "cluster/local/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/log.h"
#include "blob/device/format.h"
#include "cluster/local/files.h"
#include "io/real/disk_file.h"
#include "io/real/frame.h"

namespace moraine {
namespace {

constexpr std::uint64_t kSegmentsWanted = 64;
// Holds a blob of the largest size and its batch header.
constexpr std::uint32_t kRoomySegmentBytes = 16u << 20;

constexpr Duration kDevicePoll = 20ms;

std::unexpected<Error> wrong(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

}  // namespace

Result<blob::ClusterConfig> load_cluster_file(const std::string& path) {
  TRY(const std::string text, read_text(path));
  auto config = blob::parse_cluster_config(text);
  if (!config) return std::unexpected(std::move(config).error().within(path));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (blob::NodeConfig& node : config->nodes) {
    for (blob::DeviceConfig& device : node.devices) {
      device.path = (folder / device.path).string();
      if (device.segment_size == 0) device.segment_size = choose_segment_bytes(device.size);
    }
  }
  return config;
}

Result<TcpNetworkOptions> network_options(const blob::ClusterConfig& config, NodeId self) {
  TcpNetworkOptions options;
  options.self = self;
  options.cluster = config.id == 0 ? config.name : fmt::format("{}#{:x}", config.name, config.id);
  if (options.cluster.size() > kClusterBytesMax) {
    return wrong(fmt::format("cluster name '{}' is longer than {} bytes", options.cluster,
                             kClusterBytesMax));
  }
  for (const blob::NodeConfig& node : config.nodes) {
    if (node.id != self) options.peers[node.id] = {node.host, node.port};
  }
  return options;
}

Task<void> stop_network(TcpNetwork& network) {
  const LogLevel level = log_level();
  set_log_level(std::max(level, LogLevel::kError));
  co_await network.stop();
  set_log_level(level);
}

Result<TcpAddress> parse_address(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return wrong(fmt::format("address '{}' {}; write HOST:PORT", text, why));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    if (!digits) return refuse("has no port");
    return wrong(
        fmt::format("address '{0}' has no host; write HOST:PORT, e.g. 127.0.0.1:{0}", text));
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return refuse("has an IPv6 host without brackets");
  }
  if (host.empty()) return refuse("has no host");
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc{} || rest != end) return refuse("has a port that is not 0 to 65535");
  return TcpAddress{std::string(host), port};
}

Result<blob::GroupId> choose_group(const blob::ClusterConfig& config, std::string_view wanted) {
  std::string known;
  for (const blob::GroupConfig& group : config.groups) {
    known += fmt::format("{}{:x}", known.empty() ? "" : ", ", group.id.value);
  }
  if (wanted.empty()) {
    if (config.groups.size() == 1) return config.groups.front().id;
    if (config.groups.empty()) return wrong("the config has no group");
    return wrong(fmt::format("which group? --group is one of {}", known));
  }
  std::string_view digits = wanted;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  blob::GroupId id;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, id.value, 16);
  if (error != std::errc{} || rest != end) {
    return wrong(fmt::format("group '{}' is no hexadecimal number", wanted));
  }
  if (!config.group(id)) {
    return wrong(fmt::format("there is no group {}, only {}", wanted, known));
  }
  return id;
}

std::optional<std::string> device_in_use(const blob::NodeConfig& node) {
  DiskOptions options;
  options.read_only = true;
  for (const blob::DeviceConfig& device : node.devices) {
    const auto opened = DiskFile::open(device.path, options);
    if (!opened && opened.error().code == Errc::kConflict) return device.path;
  }
  return std::nullopt;
}

void wait_for_devices(const blob::NodeConfig& node, Duration patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (device_in_use(node) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kDevicePoll);
  }
}

std::uint32_t choose_segment_bytes(std::uint64_t size) {
  const std::uint64_t room = size > blob::kSegmentsOffset ? size - blob::kSegmentsOffset : 0;
  std::uint64_t bytes = std::bit_floor(std::max<std::uint64_t>(room / kSegmentsWanted, 1));
  if (room / kRoomySegmentBytes >= blob::kSegmentsMin) {
    bytes = std::max<std::uint64_t>(bytes, kRoomySegmentBytes);
  }
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(bytes, blob::kSegmentBytesMin, blob::kSegmentBytesDefault));
}

}  // namespace moraine
