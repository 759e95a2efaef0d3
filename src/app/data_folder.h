// A data folder: all that one node keeps, for those who do not want to write a config.
//
//   DIR/VERSION        "moraine data folder, version 1"; written last when the folder is made
//   DIR/cluster.yaml   one node, one group; written once
//   DIR/device-N       the devices of the group
//   DIR/node.port      HOST:PORT of the running server's node transport
//   DIR/kafka.address  HOST:PORT at which the running server speaks the Kafka protocol
//   DIR/VERSION.making the folder is being made: nothing in it is of value yet
//
// Promise    A folder is made whole or made again: whoever dies half way leaves one that the next
//            start makes anew. A folder that is not empty and not ours is never touched.
// Threading  Plain blocking calls.
// Errors     kNotFound, kConflict (in use), kUnsupported (foreign, of another version, or with a
//            config that contradicts itself), kReadOnly, kNoSpace, kIo; kInvalidArgument: sizes
//            that cannot be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "blob/cluster_config.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {

// The group of every data folder; its VDisks read as "[82000000:1:0:0:0]".
inline constexpr blob::GroupId kFolderGroup{0x82000000};
inline constexpr NodeId kFolderNode{1};
inline constexpr std::uint64_t kFolderSizeDefaultMax = std::uint64_t{64} << 30;

struct NewFolder {
  std::uint64_t size = 0;           // Of each device; 0: by the free space.
  std::uint32_t segment_bytes = 0;  // 0: chosen by the size.
  std::uint32_t prefill_segments = 0;
  blob::Species species = blob::Species::kNone;
};

struct DataFolder {
  std::string path;
  blob::ClusterConfig config;  // Device paths are ready to open.
};

// What --size was given; 0 is refused, which NewFolder takes for a default.
Result<std::uint64_t> parse_device_size(std::string_view text);

Result<DataFolder> open_data_folder(const std::string& path);
// kAlreadyExists: there is one already.
Result<DataFolder> create_data_folder(const std::string& path, const NewFolder& options);
// True when the folder is not there, empty, or half made.
Result<bool> can_create_data_folder(const std::string& path);

Result<void> write_node_address(const DataFolder& folder, const TcpAddress& address);
// nullopt: no server has left one.
Result<std::optional<TcpAddress>> read_node_address(const DataFolder& folder);
// For the error when `device` of a folder is open elsewhere: the process that has it, the addresses
// that it serves, and what to do.
std::string in_use_advice(const std::string& device);
void remove_node_address(const DataFolder& folder);

Result<void> write_kafka_address(const DataFolder& folder, const TcpAddress& address);
// kUnavailable: no server has left one; says how to start it.
Result<TcpAddress> read_kafka_address(const DataFolder& folder);
void remove_kafka_address(const DataFolder& folder);

// The config with the node at `address`.
blob::ClusterConfig with_address(blob::ClusterConfig config, const TcpAddress& address);

}  // namespace moraine::app
