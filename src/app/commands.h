// The commands of the program: the options and the function of each.
//
// Promise    A command prints its answer on standard output, everything else on standard error, and
//            returns an ExitCode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moraine::app {

// Where a `moraine blob` command is executed. At most one of data, node and config is set.
struct TargetOptions {
  std::string data;    // A data folder; in the end kDefaultData.
  std::string node;    // The HTTP address of a running node.
  std::string config;  // A cluster config; the command is sent to its nodes.
  std::string group;   // Empty: the only one.
  double timeout_seconds = 30;
  bool json = false;
  // The command itself reports disks that do not answer: it is run also when no node answers.
  bool tells_of_silence = false;
  bool wait_for_node = false;  // `node` may start before the timeout.
};
inline constexpr const char* kDefaultData = "./data";
inline constexpr double kTimeoutSecondsMax = 3600;

struct ServeOptions {
  std::string program = "moraine";  // As it was called.
  std::string data = kDefaultData;
  std::string size;  // Of a folder created now.
  std::string config;
  std::uint32_t node = 0;  // 0: the only one of the config.
  std::string http = "127.0.0.1:8080";
  std::string grpc = "127.0.0.1:2136";
  std::string kafka = "127.0.0.1:9092";
  std::string advertise;   // The host that Kafka clients connect to.
  bool take_over = false;  // Take topics over from the node of the config that serves them.
  bool no_auto_create = false;
  std::uint32_t default_partitions = 1;
  std::string memory;       // Of the node.
  std::string cache;        // Of topics' blobs.
  std::uint32_t lanes = 0;  // 0: one for each processor.
};
int run_serve(const ServeOptions& options);

struct InitOptions {
  std::string data = kDefaultData;
  std::string size;
  std::string segment_size;
  std::uint32_t prefill = 0;
  std::string erasure = "none";
  bool json = false;
};
int run_init(const InitOptions& options);

struct PutOptions {
  TargetOptions target;
  std::string id;
  std::string file;
  bool auto_size = false;
  bool yes = false;  // Also into system tablets (tablet_guard.h).
};
int run_blob_put(const PutOptions& options);

struct GetOptions {
  TargetOptions target;
  std::string id;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::string output = "-";
  bool must_restore = false;
};
int run_blob_get(const GetOptions& options);

struct RangeOptions {
  TargetOptions target;
  std::string from;
  std::string to;
  std::uint64_t tablet = 0;
  std::uint32_t channel = 0;
  std::uint32_t limit = 0;
  bool reverse = false;
  bool must_restore = false;
};
int run_blob_range(const RangeOptions& options);

struct DiscoverOptions {
  TargetOptions target;
  std::uint64_t tablet = 0;
  std::uint32_t min_generation = 0;
  std::uint32_t force_block = 0;
  bool list = false;
  bool yes = false;
  bool body = false;
  std::string output = "-";
};
int run_blob_discover(const DiscoverOptions& options);

struct BlockOptions {
  TargetOptions target;
  std::uint64_t tablet = 0;
  std::uint32_t generation = 0;
  bool show = false;
  bool yes = false;
};
int run_blob_block(const BlockOptions& options);

struct CollectOptions {
  TargetOptions target;
  std::uint64_t tablet = 0;
  std::uint32_t channel = 0;
  std::uint32_t generation = 0;
  std::uint32_t counter = 0;
  std::string barrier;  // "G:S"
  bool hard = false;
  bool yes = false;
  std::vector<std::string> keep;
  std::vector<std::string> do_not_keep;
};
int run_blob_collect(const CollectOptions& options);

struct StatusOptions {
  TargetOptions target;
  bool wait = false;  // Until every disk is ready and replicated, or the timeout.
};
int run_blob_status(const StatusOptions& options);

struct CheckOptions {
  std::string data;
  std::string config;
  std::uint32_t node = 0;  // With config: only the devices of this node.
  bool json = false;
};
int run_blob_check(const CheckOptions& options);

struct DeviceFormatOptions {
  std::string path;
  std::string size;
  std::string segment_size;
  std::uint32_t prefill = 0;
  bool force = false;
  bool json = false;
};
int run_device_format(const DeviceFormatOptions& options);

struct DeviceInfoOptions {
  std::string path;
  bool json = false;
};
int run_device_info(const DeviceInfoOptions& options);

}  // namespace moraine::app
