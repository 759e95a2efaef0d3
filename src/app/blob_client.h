// Runs a command on a group: in this process on a data folder, or as a client of running nodes.
//
// Promise    A data folder is opened exclusively; when a server has it open, the command is sent to
//            that server. Everything is closed cleanly before the exit code is returned.
// Threading  Blocks the calling thread; the command runs on a lane of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "app/commands.h"
#include "base/result.h"
#include "blob/cluster_config.h"
#include "blob/endpoint/disk_services.h"
#include "blob/endpoint/resolver.h"
#include "blob/proxy/proxy.h"
#include "io/real/real_world.h"

namespace moraine::app {

// The context of a command. Its parts outlive the command's task.
struct BlobTarget {
  blob::Proxy& proxy;
  const blob::GroupConfig& group;
  Executor& executor;
  Instant deadline;
};
using BlobCommand = std::function<Task<int>(BlobTarget)>;

int run_on_target(const TargetOptions& options, const BlobCommand& command);

// The config of the folder, node or cluster that the options name.
Result<blob::ClusterConfig> config_of_target(const TargetOptions& options);

// The proxy of a process that has no disks of the group itself.
class GuestClient {
 public:
  // `world` has the network options of the config, and outlives this.
  GuestClient(World world, const blob::GroupConfig& group);
  blob::Proxy& proxy() { return proxy_; }
  // Called once, before destruction.
  Task<void> stop() { return proxy_.stop(); }

 private:
  blob::DiskServices services_;  // None.
  blob::NodeEndpoints endpoints_;
  blob::Proxy proxy_;
};

// An id in either of its string forms; the brackets may be left out.
Result<blob::BlobId> parse_id(std::string_view text);

}  // namespace moraine::app
