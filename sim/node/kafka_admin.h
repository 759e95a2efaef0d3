// KafkaAdmin: changes of topics.
//
// Promise    Creates the topics of the scenario and adds partitions to them; changes their
//            configs; creates, uses, deletes and creates again topics of its own. An acknowledged
//            change is visible on the same connection at once, and permanent: anything else is an
//            immediate failure. A name whose state is unknown is not used again.
// Threading  Events of the scenario.
#pragma once

#include <set>
#include <string>

#include "sim/node/kafka_stage.h"

namespace moraine::sim {

class KafkaAdmin {
 public:
  explicit KafkaAdmin(KafkaStage& stage);

  Task<void> run();

  // After all faults, through a lane of the server. False: something did not answer.
  Task<bool> check(std::size_t lane);

 private:
  Task<void> make_topics();
  Task<void> grow();
  Task<void> change_config();
  Task<void> use_own_topic();
  Task<bool> create(std::string name, std::size_t partitions);
  Task<bool> remove(std::string name);
  // One record at the start of a topic that was just created.
  Task<bool> use(std::string name);
  // Fails the history when the topic is visible, or not, against `there`.
  Task<bool> expect(std::string name, bool there);
  // nullopt: no answer.
  Task<std::optional<kafka::MetadataResponse>> metadata(std::optional<std::string> name);
  Task<std::optional<std::string>> config_of(std::string topic);
  void count(bool answered, kafka::ErrorCode error);

  KafkaStage& stage_;
  SeededRandom random_;
  KafkaLink link_;
  std::uint64_t own_topics_ = 0;
  std::optional<std::string> config_;  // Acknowledged, of the first topic.
  std::set<std::string> maybe_;        // Values of unknown outcome.
};

}  // namespace moraine::sim
