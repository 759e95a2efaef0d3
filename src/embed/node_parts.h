// NodeParts: what a Database needs of a node.
//
// Threading  Plain references. The owner of the node keeps it running until every Database that was
//            connected to it, and every object obtained from those, is destroyed.
#pragma once

#include <vector>

#include "client/topics.h"
#include "io/background_work.h"
#include "io/executor.h"
#include "node/node.h"

namespace moraine::embed {

struct NodeParts {
  std::vector<Executor*> lanes;  // Of the node; the first is the control lane.
  std::vector<Topics*> topics;   // Of each lane.
  TableServices& services;       // Started.
  Node& node;
  BackgroundWork* background = nullptr;  // None: long batches are unpacked on the lanes.
};

}  // namespace moraine::embed
