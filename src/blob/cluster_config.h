// ClusterConfig: the contents of cluster.yaml: nodes, their devices, and the static groups on them.
//
//   cluster:
//     name: example              # id: a number that distinguishes clusters of one name; optional
//   nodes:
//     - id: 1
//       host: 127.0.0.1
//       port: 7500               # For connections between nodes.
//       devices:
//         - id: 1
//           path: /data/moraine/device1
//           size: 10GiB          # segment_size: optional
//   groups:
//     - id: 0x1                  # Hex after 0x, or decimal.
//       generation: 1
//       erasure: none            # none, block-4-2, mirror-3-dc
//       shape: {realms: 1, domains: 1, vdisks: 1}    # Optional: the standard one of the erasure.
//       disks:                   # By order: realm, then domain, then vdisk.
//         - {node: 1, device: 1, slot: 0}
//
// Promise    A parsed config is valid: check() succeeds. Unknown and repeated fields are errors, so
//            a misspelt one is not overlooked.
// Limits     kClusterYamlBytesMax of text; the counts below.
// Errors     kInvalidArgument, naming the place ("groups[0].disks[3].node") and the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "blob/group/config.h"

namespace moraine::blob {

inline constexpr std::size_t kClusterYamlBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kClusterNodesMax = 1'024;
inline constexpr std::size_t kNodeDevicesMax = 64;
inline constexpr std::size_t kStaticGroupsMax = 1'024;
inline constexpr std::uint16_t kDefaultNodePort = 7500;

struct DeviceConfig {
  std::uint32_t id = 0;  // Unique on its node.
  std::string path;
  std::uint64_t size = 0;          // A multiple of kSectorSize.
  std::uint64_t segment_size = 0;  // The same; 0: the device chooses.
  bool operator==(const DeviceConfig&) const = default;
};

struct NodeConfig {
  NodeId id;  // Not 0.
  std::string host;
  std::uint16_t port = kDefaultNodePort;
  std::vector<DeviceConfig> devices;
  bool operator==(const NodeConfig&) const = default;
};

struct ClusterConfig {
  std::string name;
  std::uint64_t id = 0;
  std::vector<NodeConfig> nodes;
  std::vector<GroupConfig> groups;
  bool operator==(const ClusterConfig&) const = default;

  // Null when there is none.
  const NodeConfig* node(NodeId id) const;
  const GroupConfig* group(GroupId id) const;
};

Result<ClusterConfig> parse_cluster_config(std::string_view yaml);
// Parses to the same config.
std::string to_yaml(const ClusterConfig& config);

// Fails on two nodes of one id or one host and port, two devices of one id or path on a node, two
// groups of one id, a disk on an unknown node or device, a slot used twice, a group with two disks
// on one device, and everything that check(GroupConfig) rejects.
Result<void> check(const ClusterConfig& config);

// Weaknesses of a valid config: groups over several nodes with two fail domains on one of them.
// Requires: check() succeeds.
std::vector<std::string> warnings(const ClusterConfig& config);

// One node with one device and a group of erasure none on it.
ClusterConfig single_node_config(std::string device_path, std::uint64_t device_size);

// "512MiB", "10GiB", plain bytes: a whole number and B, KiB, MiB, GiB, TiB or nothing.
Result<std::uint64_t> parse_size(std::string_view text);
// In the largest unit that divides it.
std::string print_size(std::uint64_t bytes);

}  // namespace moraine::blob
