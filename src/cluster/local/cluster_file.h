// A cluster config: read from a file, and converted to network options.
//
// Promise    Device paths that are relative in the file are relative to the file's folder.
// Errors     Contradictions name the file and the place in it (blob/cluster_config.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "blob/cluster_config.h"
#include "io/real/tcp_network.h"

namespace moraine {

Result<blob::ClusterConfig> load_cluster_file(const std::string& path);

// The name and id of the handshake between nodes of one cluster.
Result<TcpNetworkOptions> network_options(const blob::ClusterConfig& config, NodeId self);

// Stops it without log lines about peers that it disconnects itself.
Task<void> stop_network(TcpNetwork& network);

// "127.0.0.1:8080", "[::1]:8080", "localhost:0".
Result<TcpAddress> parse_address(std::string_view text);

// The group of a command: by id ("0x82000000", "82000000" as in VDisk ids), or the only one.
Result<blob::GroupId> choose_group(const blob::ClusterConfig& config, std::string_view wanted);

// A segment size for a device of `size` bytes: enough segments to clean, large enough for the
// largest blob where the device allows.
std::uint32_t choose_segment_bytes(std::uint64_t size);

// The path of a device of `node` that another process has open.
std::optional<std::string> device_in_use(const blob::NodeConfig& node);

// Waits until no process has a device of `node` open. The kernel closes the files of a killed
// process only when its last I/O is done. Returns after `patience` at the latest.
void wait_for_devices(const blob::NodeConfig& node, Duration patience);
inline constexpr Duration kDeviceReleaseWait = 3s;

}  // namespace moraine
