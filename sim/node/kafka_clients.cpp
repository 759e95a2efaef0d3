#include "sim/node/kafka_clients.h"

#include <fmt/format.h>

namespace moraine::sim {

using kafka::ErrorCode;
using queue::Offset;

KafkaClients::KafkaClients(SimWorld& world, Machines& machines, History& history, KafkaPlan plan)
    : stage_{world, machines, history, plan},
      link_(world, machines, history, "checks"),
      admin_(stage_) {
  std::uint32_t number = 0;
  for (std::uint64_t topic = 1; topic <= plan.topics; ++topic) {
    for (std::size_t i = 0; i < plan.partitions_max; ++i) {
      const PartitionName partition{topic, static_cast<queue::PartitionIndex>(i)};
      for (std::size_t k = 0; k < plan.producers; ++k) {
        producers_.push_back(std::make_unique<KafkaProducer>(stage_, partition, ++number));
      }
    }
  }
  for (std::size_t i = 0; i < plan.consumers; ++i) {
    consumers_.push_back(std::make_unique<KafkaConsumer>(stage_, i));
  }
}

void KafkaClients::start() {
  scope_.spawn(admin_.run());
  for (const auto& producer : producers_) scope_.spawn(producer->run());
  for (const auto& consumer : consumers_) scope_.spawn(consumer->run());
}

Task<bool> KafkaClients::check(std::size_t lane) {
  const bool topics = co_await admin_.check(lane);
  const bool records = topics && link_.open_lane(lane) && co_await read_everything(lane);
  const bool offsets = records && co_await check_offsets();
  link_.close();
  if (!offsets && stage_.history.verbose()) {
    stage_.history.say(fmt::format("lane {} has not answered all checks: {}", lane,
                                   !topics    ? "topics"
                                   : !records ? "records"
                                              : "offsets"));
  }
  co_return offsets;
}

Task<bool> KafkaClients::read_everything(std::size_t lane) {
  std::map<PartitionName, Offset> positions;
  for (const auto& [topic, partitions] : stage_.partitions) {
    for (std::size_t i = 0; i < partitions; ++i) {
      positions[{topic, static_cast<queue::PartitionIndex>(i)}] = 0;
    }
  }
  while (!positions.empty()) {
    const auto response = co_await link_.ask(fetch_request(positions, 0));
    if (!response || stage_.history.failed()) co_return false;
    for (const auto& topic : response->topics) {
      for (const auto& partition : topic.partitions) {
        const PartitionName name{std::stoull(topic.name.substr(1)),
                                 static_cast<queue::PartitionIndex>(partition.partition_index)};
        if (partition.error_code != ErrorCode::kNone) {
          if (stage_.history.verbose()) {
            stage_.history.say(fmt::format("{}/{} through lane {}: {}", name.tablet, name.index,
                                           lane, kafka::to_string(partition.error_code)));
          }
          co_return false;
        }
        Offset& position = positions.at(name);
        position = take_records(stage_, name, partition.records, position);
        const auto end = static_cast<Offset>(partition.high_watermark);
        if (position < end) continue;
        stage_.topics.finished(name, end);
        positions.erase(name);
      }
    }
  }
  co_return true;
}

Task<bool> KafkaClients::check_offsets() {
  kafka::OffsetFetchRequest::Group group;
  group.group_id = KafkaConsumer::kGroup;
  group.topics.emplace();
  for (const auto& [topic, partitions] : stage_.partitions) {
    kafka::OffsetFetchRequest::Topic asked{KafkaStage::topic_name(topic), {}};
    for (std::size_t i = 0; i < partitions; ++i) {
      asked.partition_indexes.push_back(static_cast<std::int32_t>(i));
    }
    group.topics->push_back(std::move(asked));
  }
  kafka::OffsetFetchRequest request;
  request.groups.push_back(std::move(group));
  const auto response = co_await link_.ask(std::move(request));
  if (!response || response->groups.size() != 1) co_return false;
  if (response->groups[0].error_code != ErrorCode::kNone) co_return false;
  for (const auto& topic : response->groups[0].topics) {
    for (const auto& partition : topic.partitions) {
      std::optional<Offset> offset;
      if (partition.committed_offset >= 0) offset = partition.committed_offset;
      stage_.group.committed({std::stoull(topic.name.substr(1)),
                              static_cast<queue::PartitionIndex>(partition.partition_index)},
                             offset);
    }
  }
  co_return true;
}

}  // namespace moraine::sim
