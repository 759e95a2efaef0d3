// Servers: the real program, as one process on a data folder or as several that form a cluster.
//
// Threading  Plain blocking calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/child_process.h"
#include "base/result.h"
#include "blob/cluster_config.h"
#include "io/random.h"
#include "io/real/tcp_socket.h"

namespace moraine::crash {

struct ServersOptions {
  std::string binary;
  std::string folder;  // Exists and is empty.
  blob::Species species = blob::Species::kNone;
  std::uint64_t device_bytes = std::uint64_t{2} << 30;
  bool kafka = false;  // Served by the one process, at the same port after every start.
};

class Servers {
 public:
  // Creates the data folder or writes the cluster's config.
  static Result<Servers> prepare(const ServersOptions& options, Random& random);

  const blob::ClusterConfig& config() const { return config_; }
  std::vector<NodeId> nodes() const;
  // Starts those that are not running, and waits until they listen.
  Result<void> start_all();
  // Where a node listens now.
  TcpAddress address(NodeId node) const { return addresses_.at(node); }
  // Address for Kafka clients; "off" if none.
  const std::string& kafka() const { return kafka_; }
  void kill(NodeId node);  // SIGKILL
  // SIGTERM to all; an error unless every one exits with 0.
  Result<void> stop_all();
  // moraine blob check: an error unless it finds no problem. Requires: none is running.
  Result<void> check() const;
  std::string log_path() const { return options_.folder + "/servers.log"; }

 private:
  Servers(ServersOptions options, blob::ClusterConfig config)
      : options_(std::move(options)), config_(std::move(config)) {}
  std::vector<std::string> arguments(NodeId node) const;
  Result<void> start(NodeId node);
  bool single() const { return options_.species == blob::Species::kNone; }

  ServersOptions options_;
  blob::ClusterConfig config_;
  std::map<NodeId, app::ChildProcess> running_;
  std::map<NodeId, TcpAddress> addresses_;
  std::string kafka_ = "off";
};

}  // namespace moraine::crash
