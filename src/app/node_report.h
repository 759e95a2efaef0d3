// What a running node says of itself: /status and /metrics.
//
// Threading  The node's executor.
#pragma once

#include <string>

#include "blob/node/blob_node.h"

namespace moraine::app {

std::string node_status(blob::BlobNode& node, NodeId self);   // JSON
std::string node_metrics(blob::BlobNode& node, NodeId self);  // Prometheus text

}  // namespace moraine::app
