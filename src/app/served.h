// Served: the parts of a process that answer requests.
//
// Threading  The control lane; yt_door on any lane.
#pragma once

#include <atomic>
#include <memory>

#include "app/kafka_server.h"
#include "app/yt_server.h"
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
  std::unique_ptr<YtServer> yt{};        // Null: not started.
  std::atomic<yt::Door*> yt_door{};      // Of `yt`, while it takes requests.
  std::unique_ptr<TopicsClaim> claim{};  // With topics, when the config has other nodes.
  TaskScope stops{};
};

}  // namespace moraine::app
