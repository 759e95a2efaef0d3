// TopicProducer: writes messages to the partitions of a topic, in batches.
//
// Promise    When flush() returns OK all messages are durable on the server. The messages of a
//            partition are written in the order of add(). An idempotent producer resends a batch
//            whenever its answer is lost, and the batch is written once.
// Threading  Blocks; one thread.
// Limits     kPendingBytesMax bytes wait in memory, or one message.
// Errors     Those of KafkaClient, and refusals by name. The outcome of unacknowledged messages is
//            then unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/topic_client.h"
#include "queue/kafka/records.h"

namespace moraine::app {

inline constexpr std::size_t kPendingBytesMax = std::size_t{8} << 20;
// Of one batch without compression; a longer message is a batch of its own.
inline constexpr std::size_t kBatchBytesDefault = std::size_t{512} << 10;

struct ProducerOptions {
  kafka::Compression codec = kafka::Compression::kNone;
  bool idempotent = false;
  std::size_t batch_bytes = kBatchBytesDefault;
};

// What was acknowledged of one partition.
struct WrittenRange {
  std::int64_t first = -1;  // -1: not known to the server.
  std::int64_t last = -1;
  std::uint64_t messages = 0;
};

class TopicProducer {
 public:
  // `client` outlives this.
  TopicProducer(TopicClient& client, std::string topic, const ProducerOptions& options)
      : client_(client), topic_(std::move(topic)), options_(options) {}

  // Gets a producer id if one is needed. Called once, first.
  Result<void> start();
  // Sends the pending messages when this one does not fit with them.
  Result<void> add(std::int32_t partition, const kafka::Record& record);
  Result<void> flush();

  const std::map<std::int32_t, WrittenRange>& written() const { return written_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Batch {
    std::int32_t partition = 0;
    Slice bytes;
    std::int32_t count = 0;
    std::size_t plain_bytes = 0;
  };

  kafka::BatchOptions options_of(std::int32_t partition) const;
  Result<void> send(std::vector<Batch> batches);
  // Sends once. Batches to be resent stay; the error says why.
  Result<void> attempt(std::vector<Batch>& batches);
  Result<void> take_answer(const kafka::ProduceResponse::Partition& answer,
                           std::vector<Batch>& batches);
  void note(const Batch& batch, std::int64_t base_offset);

  TopicClient& client_;
  const std::string topic_;
  const ProducerOptions options_;
  std::int64_t producer_id_ = -1;
  std::int16_t producer_epoch_ = -1;
  std::map<std::int32_t, std::int32_t> sequences_;  // The next one of each partition.
  std::map<std::int32_t, kafka::BatchBuilder> pending_;
  std::size_t pending_bytes_ = 0;
  std::map<std::int32_t, WrittenRange> written_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace moraine::app
