// KafkaDoor: the Kafka protocol of a node, on all of its lanes.
//
//   a connection on lane i  ->  KafkaService of lane i  ->  Topics of lane i
//                                                       ->  groups and producer ids on lane 0
//
// Promise    A client may connect to any lane: it finds the same topics and groups. stop() ends
//            when no request is in flight any more.
// Threading  The control lane, except that the handler of streams(i) is called on lane i.
// Limits     Those of KafkaOptions, shared out to the lanes in equal parts.
// Tests      sim/node/.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gateway/kafka/cluster_id.h"
#include "gateway/kafka/groups/lane_groups.h"
#include "gateway/kafka/producer_ids.h"
#include "gateway/kafka/server/service.h"
#include "io/stream.h"

namespace moraine::kafka {

class KafkaDoor {
 public:
  struct Lane {
    World world;
    Topics& topics;                        // Used on that lane.
    BackgroundWork* background = nullptr;  // None: long work is done on the lane.
  };
  // Null while the tablet is not running; used on the control lane.
  using State = std::function<std::shared_ptr<KeyValue>()>;

  // The lanes' worlds and topics outlive the door. Requires: a lane.
  KafkaDoor(std::vector<Lane> lanes, State state);
  KafkaDoor(const KafkaDoor&) = delete;
  KafkaDoor& operator=(const KafkaDoor&) = delete;

  // Reads the groups and the cluster id. After an error it may be called again.
  Task<Result<void>> load();
  // After load(), once: requests can be served from now on.
  void open(KafkaOptions options);
  // Requires: open().
  StreamHandler streams(std::size_t lane);

  // Answers requests that wait for other members of their group; new ones are refused.
  void stop_groups() { groups_.stop(); }
  // After the last connection has ended: waits for writes whose requests have ended.
  Task<void> stop();

  const MetricRegistry& metrics() const { return registry_; }

 private:
  struct Serving {
    Serving(const KafkaDoor::Lane& lane, KafkaDoor& door, Executor& first);
    World world;
    Topics& topics;
    BackgroundWork* background;
    LaneGroups groups;
    LaneProducerIds producer_ids;
    LaneLock config_changes;
    std::unique_ptr<KafkaService> service;
  };

  World world_;  // Of the control lane.
  const State state_;
  StoredGroups groups_;
  DurableProducerIds producer_ids_;
  Semaphore config_changes_{world_.executor, 1};
  MetricRegistry registry_;
  std::optional<Uuid> cluster_id_;
  std::vector<std::unique_ptr<Serving>> lanes_;
};

}  // namespace moraine::kafka
