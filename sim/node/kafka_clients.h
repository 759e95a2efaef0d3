// KafkaClients: all Kafka clients of the scenario, and what must hold once all faults have ended.
#pragma once

#include <memory>
#include <vector>

#include "sim/node/kafka_admin.h"
#include "sim/node/kafka_consumer.h"
#include "sim/node/kafka_producer.h"

namespace moraine::sim {

class KafkaClients {
 public:
  KafkaClients(SimWorld& world, Machines& machines, History& history, KafkaPlan plan);

  void start();
  void stop() { stage_.stopped = true; }
  std::size_t running() const { return scope_.live(); }

  // Every acknowledged change of a topic, record and committed offset is there, through this lane
  // of the server. False: something did not answer.
  Task<bool> check(std::size_t lane);

 private:
  Task<bool> read_everything(std::size_t lane);
  Task<bool> check_offsets();

  KafkaStage stage_;
  KafkaLink link_;
  KafkaAdmin admin_;
  std::vector<std::unique_ptr<KafkaProducer>> producers_;
  std::vector<std::unique_ptr<KafkaConsumer>> consumers_;
  TaskScope scope_;
};

}  // namespace moraine::sim
