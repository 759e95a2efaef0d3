// KafkaConsumer: a member of the consumer group, with the range assignor.
//
// Promise    Begins at the committed offset of each assigned partition, reads in order, and commits
//            what it has read. Keeps its member id over lost connections. Sometimes it leaves, or
//            sleeps past its session and then commits, as a client that was suspended does.
// Threading  Events of the scenario.
#pragma once

#include <map>
#include <string>

#include "sim/node/kafka_stage.h"

namespace moraine::sim {

class KafkaConsumer {
 public:
  static constexpr const char* kGroup = "readers";

  KafkaConsumer(KafkaStage& stage, std::uint64_t number);

  Task<void> run();

 private:
  Task<bool> join();
  Task<bool> join_group(std::vector<std::string>& members);
  Task<bool> sync_group(std::vector<kafka::SyncGroupRequest::Assignment> assignments);
  Task<std::optional<std::vector<kafka::SyncGroupRequest::Assignment>>> assign(
      std::vector<std::string> members);
  Task<bool> fetch_offsets(std::vector<PartitionName> partitions);
  Task<void> consume();
  // False: the member has to join again.
  Task<bool> heartbeat();
  Task<void> fetch();
  Task<void> commit();
  Task<void> leave();

  KafkaStage& stage_;
  SeededRandom random_;
  KafkaLink link_;
  std::string member_id_;
  std::int32_t generation_ = -1;
  std::map<PartitionName, queue::Offset> positions_;
};

}  // namespace moraine::sim
