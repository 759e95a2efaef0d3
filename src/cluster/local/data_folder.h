// A data folder: everything that one node stores, for use without a config.
//
//   DIR/VERSION        "moraine data folder, version 1"; written last when the folder is created
//   DIR/cluster.yaml   one node, one group; written once
//   DIR/device-N       the devices of the group
//   DIR/node.port      HOST:PORT of the running server's node transport
//   DIR/kafka.address  HOST:PORT at which the running server speaks the Kafka protocol
//   DIR/VERSION.making the folder is being created: nothing in it is of value yet
//
// Promise    A folder is created completely: if the process dies during the creation, the next
//            start creates it again. A folder that is not empty and not a data folder is never
//            changed.
// Threading  Plain blocking calls.
// Errors     kNotFound, kConflict (in use), kUnsupported (foreign, of another version, or with a
//            config that contradicts itself), kReadOnly, kNoSpace, kIo; kInvalidArgument: invalid
//            sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "blob/cluster_config.h"
#include "blob/device/format.h"
#include "io/real/tcp_socket.h"

namespace moraine {

// The group of every data folder; its VDisks read as "[82000000:1:0:0:0]".
inline constexpr blob::GroupId kFolderGroup{0x82000000};
inline constexpr NodeId kFolderNode{1};
inline constexpr std::uint64_t kFolderSizeDefaultMax = std::uint64_t{64} << 30;
// As many segments of the default size as a device can have.
inline constexpr std::uint64_t kDeviceSizeMax =
    std::uint64_t{blob::kSegmentsMax} * blob::kSegmentBytesDefault;

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

// The value of --size, at most kDeviceSizeMax; 0 is refused, since NewFolder uses it for the
// default.
Result<std::uint64_t> parse_device_size(std::string_view text);

Result<DataFolder> open_data_folder(const std::string& path);
// kAlreadyExists: it is a data folder already.
Result<DataFolder> create_data_folder(const std::string& path, const NewFolder& options);
// True when the folder does not exist, is empty, or was not created completely.
Result<bool> can_create_data_folder(const std::string& path);

Result<void> write_node_address(const DataFolder& folder, const TcpAddress& address);
// nullopt: no server has written one.
Result<std::optional<TcpAddress>> read_node_address(const DataFolder& folder);
// The error text when `device` of a folder is open elsewhere: the process that has it, the
// addresses that it serves, and what to do.
std::string in_use_advice(const std::string& device);
void remove_node_address(const DataFolder& folder);

Result<void> write_kafka_address(const DataFolder& folder, const TcpAddress& address);
// kUnavailable: no server has written one; the text says how to start it.
Result<TcpAddress> read_kafka_address(const DataFolder& folder);
void remove_kafka_address(const DataFolder& folder);

// The config with the node at `address`.
blob::ClusterConfig with_address(blob::ClusterConfig config, const TcpAddress& address);

// Whether the environment confirms a wall clock that is far ahead: MORAINE_ACCEPT_CLOCK=1.
bool clock_is_confirmed();

}  // namespace moraine
