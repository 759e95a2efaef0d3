// Messages as record batches, and back.
//
// Promise    Pure. encode_batch() makes a batch that Kafka's consumers read and that fits the
//            configs of the topic; BatchReader reads every stored entry, compressed ones too.
// Limits     max.message.bytes of the topic and queue::kPayloadBytesMax for a batch;
//            kafka::kPlainBytesMax without compression.
// Tests      topic_batch_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "moraine/topic.h"
#include "queue/kafka/compression.h"
#include "queue/kafka/records.h"
#include "queue/partition.h"
#include "scheme/topic_config.h"

namespace moraine::client {

// A write before it is sent to its partition.
struct NewBatch {
  queue::PartitionIndex partition = 0;
  queue::WriteRequest request;
};

// `turn`: the partition, modulo their number, of messages without key and producer.
// kInvalidArgument: the messages or options are wrong, or do not fit the topic.
Result<NewBatch> encode_batch(const TopicInfo& topic, std::span<const Message> messages,
                              const MessageWriteOptions& options, std::chrono::milliseconds now,
                              std::uint32_t turn);

// The codec of batches in the topic. `producers`: what their producer has chosen.
kafka::Compression codec_of(TopicCompression compression, kafka::Compression producers);

// Collects messages of stored entries, in order, until a limit of a read is reached.
class BatchReader {
 public:
  explicit BatchReader(const MessageReadOptions& options) : options_(options) {}

  // False: a limit is reached. Errors: kCorrupt.
  Result<bool> add(const queue::StoredEntry& entry);
  // The same for a lane. nullopt: unpacking it would take too long (unpacking.h), and nothing is
  // added.
  Result<std::optional<bool>> add_if_short(const queue::StoredEntry& entry);
  // The entries' bytes so far, after unpacking.
  std::size_t plain_bytes() const { return plain_bytes_; }
  // Without the bounds of the partition.
  MessageBatch finish() &&;

 private:
  // Of a compressed batch.
  struct UnpackLimits {
    std::size_t packed = SIZE_MAX;
    std::size_t plain = kafka::kPlainBytesMax;
  };
  Result<std::optional<bool>> add(const queue::StoredEntry& entry, UnpackLimits limits);
  Result<std::optional<bool>> add_batch(const queue::StoredEntry& entry, UnpackLimits limits);
  // False: a limit is reached.
  bool add_message(Message message);
  // The same bytes, copied if they would keep much more memory alive.
  Slice hold(const Slice& bytes);

  const MessageReadOptions options_;
  std::vector<Slice> memory_;
  std::size_t bytes_ = 0;  // Of the messages.
  std::size_t plain_bytes_ = 0;
  MessageBatch batch_;
};

}  // namespace moraine::client
