// Served: the parts of a process that answer requests.
//
// Threading  The control lane.
#pragma once

#include <memory>

#include "app/kafka_server.h"
#include "blob/node/group_watch.h"
#include "cluster/topics_claim.h"
#include "io/sync.h"

namespace moraine::app {

struct Served {
  RealLanes& lanes;
  Node& node;
  blob::GroupWatch& groups;
  bool topics_elsewhere = false;         // Another node of the cluster serves them.
  std::unique_ptr<KafkaServer> kafka{};  // Null: none, not started, or stopped.
  std::unique_ptr<TopicsClaim> claim{};  // With topics, when the config has other nodes.
  TaskScope stops{};
};

}  // namespace moraine::app
