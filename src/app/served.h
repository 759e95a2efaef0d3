// Served: the parts of a process that answer requests.
//
// Threading  The node's executor.
#pragma once

#include <memory>

#include "app/topic_node.h"
#include "blob/node/blob_node.h"
#include "blob/node/group_watch.h"
#include "cluster/topics_claim.h"
#include "io/real/real_world.h"
#include "io/sync.h"

namespace moraine::app {

struct Served {
  RealWorld& real;
  blob::BlobNode& node;
  blob::GroupWatch& groups;
  NodeGroups storage{node};
  bool devices_open = false;
  bool topics_elsewhere = false;         // Another node of the cluster serves them.
  std::unique_ptr<TopicNode> topics{};   // Null: none, not started, or stopped.
  std::unique_ptr<TopicsClaim> claim{};  // With topics, when the config has other nodes.
  TaskScope stops{};
};

}  // namespace moraine::app
