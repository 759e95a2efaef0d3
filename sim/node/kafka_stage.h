// KafkaStage: what all Kafka clients of the scenario share: topics, models, options.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/node/group_model.h"
#include "sim/node/kafka_link.h"

namespace moraine::sim {

struct KafkaPlan {
  std::size_t topics = 2;          // They are never deleted.
  std::size_t partitions = 2;      // Of a topic, at first.
  std::size_t partitions_max = 3;  // They grow up to this.
  std::size_t producers = 2;       // Per partition.
  std::size_t consumers = 3;
  std::size_t window_max = 5;  // Batches of a producer in flight.
  std::size_t message_bytes_max = 500;
  Duration think_max = 200ms;
};

struct KafkaStage {
  SimWorld& world;
  Machines& machines;
  History& history;
  const KafkaPlan plan;
  TopicModel topics{history};
  GroupModel group{history};
  bool stopped = false;
  // Names of topics, from acknowledged changes. Names with an unknown outcome are not used again.
  std::set<std::string> present = {};
  std::set<std::string> absent = {};
  // Partitions of the topics by number: acknowledged, or seen.
  std::map<std::uint64_t, std::size_t> partitions = {};

  bool keep_running() const { return !stopped && !history.failed(); }
  static std::string topic_name(std::uint64_t topic) { return "t" + std::to_string(topic); }
  Task<void> think(SeededRandom& random) const {
    const auto most = static_cast<std::uint64_t>(plan.think_max.count());
    co_await sleep_for(world.executor(), Duration(1 + random.below(most)));
  }
  void count(TopicCommand command, bool answered, bool ok) {
    history.tally.add(command, !answered ? TopicAnswer::kTimeout
                               : ok      ? TopicAnswer::kOk
                                         : TopicAnswer::kFailed);
  }
};

// The batch of one entry: `count` records with the payload of the entry's name.
Slice batch_of(const MessageName& name, const SentMessage& message, std::int64_t producer_id,
               std::int16_t epoch);
// Passes the batches of a Fetch answer to the model and returns the offset after the last one, or
// `from`. Fails the history when they are not whole batches of consecutive offsets.
queue::Offset take_records(KafkaStage& stage, const PartitionName& partition,
                           const kafka::Records& records, queue::Offset from);

kafka::FetchRequest fetch_request(const std::map<PartitionName, queue::Offset>& positions,
                                  std::int32_t wait_ms);

}  // namespace moraine::sim
