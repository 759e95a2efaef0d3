// The reports of a running node: /status and /metrics.
//
// Threading  The control lane.
#pragma once

#include <map>
#include <string>

#include "blob/node/blob_node.h"
#include "blob/node/group_watch.h"
#include "io/real/tcp_network.h"

namespace moraine::app {

struct NodeView {
  blob::BlobNode& node;
  NodeId self;
  const blob::GroupWatch& groups;
  std::map<NodeId, PeerState> peers;  // TcpNetwork::peers(), now.
  Instant now;
};

std::string node_status(const NodeView& view);   // JSON
std::string node_metrics(const NodeView& view);  // Prometheus text

}  // namespace moraine::app
