#include "blob/cluster_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "io/disk.h"

namespace moraine::blob {
namespace {

struct Unit {
  std::string_view name;
  unsigned shift;
};
constexpr std::array<Unit, 5> kUnits{
    {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};

std::unexpected<Error> wrong(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

Result<void> check_sectors(std::uint64_t size, std::string_view name) {
  if (size % kSectorSize == 0) return {};
  return wrong(fmt::format("{} {} is not a multiple of {}; {} is", name, size, kSectorSize,
                           size / kSectorSize * kSectorSize));
}

Result<void> check_device(const DeviceConfig& device) {
  if (device.path.empty()) return wrong("path is empty");
  if (device.size == 0) return wrong("size is 0");
  TRY_VOID(check_sectors(device.size, "size"));
  TRY_VOID(check_sectors(device.segment_size, "segment_size"));
  if (device.segment_size > device.size) {
    return wrong(fmt::format("segment_size {} is more than size {}",
                             print_size(device.segment_size), print_size(device.size)));
  }
  return {};
}

Result<void> check_node(const NodeConfig& node) {
  if (node.id.value == 0) return wrong("id 0 is not allowed");
  if (node.host.empty()) return wrong("host is empty");
  if (node.port == 0) return wrong("port is 0");
  if (node.devices.size() > kNodeDevicesMax) {
    return wrong(
        fmt::format("{} devices, over the maximum {}", node.devices.size(), kNodeDevicesMax));
  }
  std::set<std::uint32_t> ids;
  std::set<std::string_view> paths;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const DeviceConfig& device = node.devices[i];
    const std::string place = fmt::format("devices[{}]", i);
    if (auto sound = check_device(device); !sound) {
      return std::unexpected(std::move(sound).error().within(place));
    }
    if (!ids.insert(device.id).second) {
      return wrong(fmt::format("{}: the node has a device {} already", place, device.id));
    }
    if (!paths.insert(device.path).second) {
      return wrong(fmt::format("{}: the node has a device at {} already", place, device.path));
    }
  }
  return {};
}

Result<void> check_nodes(const ClusterConfig& config) {
  if (config.nodes.empty()) return wrong("nodes: at least one node is needed");
  if (config.nodes.size() > kClusterNodesMax) {
    return wrong(
        fmt::format("nodes: {}, over the maximum {}", config.nodes.size(), kClusterNodesMax));
  }
  std::set<NodeId> ids;
  std::map<std::pair<std::string_view, std::uint16_t>, NodeId> places;
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    const NodeConfig& node = config.nodes[i];
    const std::string place = fmt::format("nodes[{}]", i);
    if (auto sound = check_node(node); !sound) {
      return std::unexpected(std::move(sound).error().within(place));
    }
    if (!ids.insert(node.id).second) {
      return wrong(fmt::format("{}: there is a node {} already", place, node.id.value));
    }
    const auto [other, fresh] =
        places.emplace(std::pair(std::string_view(node.host), node.port), node.id);
    if (!fresh) {
      return wrong(fmt::format("{}: node {} is at {}:{} already", place, other->second.value,
                               node.host, node.port));
    }
  }
  return {};
}

// Which group uses which address, over all groups so far.
using Places = std::map<DiskAddress, GroupId>;

Result<void> check_disk(const ClusterConfig& config, const DiskAddress& disk) {
  const NodeConfig* const node = config.node(disk.node);
  if (!node) return wrong(fmt::format("there is no node {}", disk.node.value));
  if (std::ranges::find(node->devices, disk.device, &DeviceConfig::id) == node->devices.end()) {
    return wrong(fmt::format("node {} has no device {}", disk.node.value, disk.device));
  }
  return {};
}

Result<void> check_group(const ClusterConfig& config, const GroupConfig& group, Places& taken) {
  std::map<std::pair<NodeId, std::uint32_t>, std::size_t> devices;
  for (std::size_t order = 0; order < group.disks.size(); ++order) {
    const DiskAddress& disk = group.disks[order];
    const std::string place = fmt::format("disks[{}]", order);
    if (auto sound = check_disk(config, disk); !sound) {
      return std::unexpected(std::move(sound).error().within(place));
    }
    const auto [other, own_device] = devices.emplace(std::pair(disk.node, disk.device), order);
    if (!own_device) {
      return wrong(fmt::format("{}: device {} of node {} has disks[{}] of this group already",
                               place, disk.device, disk.node.value, other->second));
    }
    const auto [holder, own_slot] = taken.emplace(disk, group.id);
    if (!own_slot) {
      return wrong(fmt::format("{}: slot {} of device {} of node {} is taken by group {:#x}", place,
                               disk.slot, disk.device, disk.node.value, holder->second.value));
    }
  }
  return check(group);
}

}  // namespace

const NodeConfig* ClusterConfig::node(NodeId wanted) const {
  const auto found = std::ranges::find(nodes, wanted, &NodeConfig::id);
  return found == nodes.end() ? nullptr : &*found;
}

const GroupConfig* ClusterConfig::group(GroupId wanted) const {
  const auto found = std::ranges::find(groups, wanted, &GroupConfig::id);
  return found == groups.end() ? nullptr : &*found;
}

Result<void> check(const ClusterConfig& config) {
  if (config.name.empty()) return wrong("cluster.name is empty");
  TRY_VOID(check_nodes(config));
  if (config.groups.size() > kStaticGroupsMax) {
    return wrong(
        fmt::format("groups: {}, over the maximum {}", config.groups.size(), kStaticGroupsMax));
  }
  Places taken;
  std::set<GroupId> ids;
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    const GroupConfig& group = config.groups[i];
    const std::string place = fmt::format("groups[{}]", i);
    if (!ids.insert(group.id).second) {
      return wrong(fmt::format("{}: there is a group {:#x} already", place, group.id.value));
    }
    if (auto sound = check_group(config, group, taken); !sound) {
      return std::unexpected(std::move(sound).error().within(place));
    }
  }
  return {};
}

std::vector<std::string> warnings(const ClusterConfig& config) {
  std::vector<std::string> found;
  for (const GroupConfig& group : config.groups) {
    // (realm, domain) by node.
    std::map<NodeId, std::set<std::pair<int, int>>> domains;
    for (std::uint32_t order = 0; order < group.disks.size(); ++order) {
      const Coordinates at = group.geometry.coordinates(order);
      domains[group.disks[order].node].emplace(at.realm, at.domain);
    }
    if (domains.size() < 2) continue;
    for (const auto& [node, held] : domains) {
      if (held.size() < 2) continue;
      found.push_back(fmt::format("group {:#x}: node {} has disks of {} fail domains",
                                  group.id.value, node.value, held.size()));
    }
  }
  return found;
}

ClusterConfig single_node_config(std::string device_path, std::uint64_t device_size) {
  const NodeId node{1};
  constexpr std::uint32_t kDevice = 1;
  ClusterConfig config;
  config.name = "single";
  config.nodes.push_back(
      {node, "127.0.0.1", kDefaultNodePort, {{kDevice, std::move(device_path), device_size, 0}}});
  GroupConfig group;
  group.id = GroupId{1};
  group.geometry = Geometry::standard(Species::kNone);
  group.disks = {{node, kDevice, 0}};
  config.groups.push_back(std::move(group));
  return config;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return wrong(fmt::format("size {:?} {}", text.substr(0, 80), why));
  };
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) return refuse("is too large");
  if (error != std::errc{}) return refuse("does not start with a whole number");
  const std::string_view unit(rest, end);
  if (unit.empty()) return number;
  const auto known = std::ranges::find(kUnits, unit, &Unit::name);
  if (known == kUnits.end()) return refuse("has none of the units B, KiB, MiB, GiB, TiB");
  if (number > ~std::uint64_t{0} >> known->shift) return refuse("is too large");
  return number << known->shift;
}

std::string print_size(std::uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes >> unit.shift << unit.shift != bytes || bytes == 0 || unit.shift == 0) continue;
    return fmt::format("{}{}", bytes >> unit.shift, unit.name);
  }
  return fmt::format("{}", bytes);
}

}  // namespace moraine::blob
