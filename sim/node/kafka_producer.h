// KafkaProducer: an idempotent producer of one partition.
//
// Promise    Sends up to `window` batches without waiting, each with the next sequence number. What
//            is not acknowledged is sent again, in order and with the same numbers. Sometimes it
//            begins again as a new producer, and abandons what was not acknowledged.
// Threading  Events of the scenario.
#pragma once

#include <deque>
#include <memory>

#include "sim/node/kafka_stage.h"

namespace moraine::sim {

class KafkaProducer {
 public:
  // `number` is unique among producers.
  KafkaProducer(KafkaStage& stage, PartitionName partition, std::uint32_t number);

  Task<void> run();

 private:
  struct Entry {
    MessageName name;
    SentMessage message;
    bool done = false;
  };

  bool there() const;
  Task<bool> init();
  void begin_again();
  void fill_window();
  Task<void> send_window();
  kafka::ProduceRequest request_of(const Entry& entry) const;
  void take_answer(Entry& entry, bool first, const kafka::ProduceResponse& response);

  KafkaStage& stage_;
  const PartitionName partition_;
  const std::uint32_t number_;
  SeededRandom random_;
  KafkaLink link_;
  std::uint32_t incarnation_ = 0;
  std::optional<std::int64_t> id_;
  std::int16_t epoch_ = 0;
  std::uint64_t next_index_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::deque<Entry> window_;
};

}  // namespace moraine::sim
