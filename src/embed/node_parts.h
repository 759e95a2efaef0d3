// NodeParts: what a Database needs of a node.
//
// Threading  Plain references. The owner of the node keeps it running until every Database that was
//            connected to it, and every object obtained from those, is destroyed.
#pragma once

#include "blob/node/blob_node.h"
#include "io/executor.h"
#include "node/table_services.h"

namespace moraine::embed {

struct NodeParts {
  Executor& executor;       // The thread that the node runs on.
  TableServices& services;  // Started.
  blob::BlobNode& node;
};

}  // namespace moraine::embed
