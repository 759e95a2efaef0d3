// What `moraine serve` runs, from its options: the config, this node of it, the addresses.
//
// Promise    A server that cannot run fails before it creates anything: its addresses are bound and
//            its devices are checked to be free before a new folder is created.
// Threading  Blocks.
#pragma once

#include <optional>

#include "app/commands.h"
#include "app/kafka_server.h"
#include "app/port_claim.h"
#include "cluster/local/data_folder.h"
#include "node/node_memory.h"

namespace moraine::app {

struct ServePlan {
  std::string program;  // As it was called.
  blob::ClusterConfig config;
  NodeId self;
  TcpAddress listen;
  std::optional<DataFolder> folder;
  std::optional<TcpAddress> http;           // nullopt: off.
  std::optional<KafkaServerOptions> kafka;  // nullopt: off; this node then serves blobs only.
  std::size_t lanes = 1;
  NodeMemory memory;
  bool take_over = false;      // Take over topics that another node serves.
  bool format_missing = true;  // Missing devices are created.
};

// The exit code when there is nothing to serve; the reason is reported.
std::optional<int> plan_serving(const ServeOptions& options, PortClaims& claims, ServePlan& plan);

}  // namespace moraine::app
