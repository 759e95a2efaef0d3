// What `moraine serve` is to run, from its options: the config, this node of it, the addresses.
//
// Promise    A server that cannot run is refused before it makes anything: its addresses are
//            claimed and its devices are free before a new folder is made.
// Threading  Blocks.
#pragma once

#include <optional>

#include "app/commands.h"
#include "app/data_folder.h"
#include "app/port_claim.h"
#include "app/topic_node.h"

namespace moraine::app {

struct ServePlan {
  blob::ClusterConfig config;
  NodeId self;
  TcpAddress listen;
  std::optional<DataFolder> folder;
  std::optional<TcpAddress> http;  // nullopt: off.
  std::optional<TopicNodeOptions> topics;
  bool take_over = false;      // Topics that another node serves.
  bool format_missing = true;  // Devices that are not there are new ones.
};

// The exit code when there is nothing to serve; the reason is reported.
std::optional<int> plan_serving(const ServeOptions& options, PortClaims& claims, ServePlan& plan);

}  // namespace moraine::app
