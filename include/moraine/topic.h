// Topic: messages and consumers of one topic.
//
//   moraine::Result<std::string> first_order(moraine::Database& db) {
//     auto orders = db.run(db.topic("orders"));
//     if (!orders) return std::unexpected(orders.error());
//     auto written = db.run(orders->write({{.key = "ada", .value = "two apples"}}));
//     if (!written) return std::unexpected(written.error());
//     auto found = db.run(orders->read({.partition = written->partition}));
//     if (!found) return std::unexpected(found.error());
//     return std::string(found->messages[0].value.value_or("nothing"));
//   }
//
// Promise    A write that returned OK is durable: its messages have consecutive offsets, in order.
//            The same offset always returns the same message. Kafka clients of the folder's server
//            read what is written here, and the other way round: a write is one record batch.
// Threading  A Topic: any thread. Its calls return a Task, which is awaited in Database::run(), or
//            passed to it by a thread that waits: db.run(topic.write(...)). A write is encoded by
//            the thread that calls write().
// Texts      Messages borrow their texts. write() has copied them when it returns its Task. Texts
//            of a MessageBatch live as long as its `memory`. A Task holds what else it needs; the
//            Topic may be destroyed before it.
// Limits     kTopicReadBytesMax, kTopicReadMessagesMax and kTopicReadWaitMax of a read;
//            max.message.bytes of the topic for a write.
// Errors     kNotFound: the topic does not exist, or was removed. kInvalidArgument: what was asked
//            for is wrong; the text says what. kNotHere: the partition is being started; nothing
//            was done, retry after a pause. kUnknownOutcome: a write may or may not have been
//            stored; repeat it with the same producer and number. kConflict: see
//            MessageWriteOptions. kNoSpace: a limit of the topic or of the device is reached.
//            kOverloaded: too much is waiting. kUnavailable: nothing was done. kCorrupt: the
//            message at the offset of a read is damaged; the text says where reading can continue.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moraine/result.h"
#include "moraine/task.h"
#include "moraine/topic_options.h"

namespace moraine {

inline constexpr std::size_t kTopicReadBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kTopicReadMessagesMax = 1'000'000;
inline constexpr std::chrono::hours kTopicReadWaitMax = std::chrono::hours{1};

struct MessageHeader {
  std::string_view key;
  std::optional<std::string_view> value = {};
  bool operator==(const MessageHeader&) const = default;
};

// Null and empty are different: consumers may take a null value for a deletion of the key.
struct Message {
  std::optional<std::string_view> key = {};
  std::optional<std::string_view> value = {};
  std::vector<MessageHeader> headers = {};  // In their order; a key may occur several times.
  // Since 1970. For a write, nullopt: the time of the call.
  std::optional<std::chrono::milliseconds> timestamp = {};
  std::uint64_t offset = 0;  // Ignored by writes.
};

struct MessageWriteOptions {
  // nullopt: the partition of the messages' keys, as Kafka's clients choose it; keys that belong
  // to different partitions are refused. Messages without keys go to one partition of their
  // producer; without a producer, to each partition in turn.
  std::optional<std::uint32_t> partition = {};
  // With a producer, a write that is repeated is stored once: of each producer, a partition takes a
  // write only if its number is greater than those before. A write that failed must be repeated
  // before the next number is sent, else the next one fails with kUnavailable for two minutes.
  // kConflict: the partition has forgotten this producer, since too many have written: it is not
  // known whether this number was stored before. If it is sent again, it is stored.
  std::string_view producer = {};
  std::uint64_t number = 0;  // Of the write, whatever the number of its messages.
};

struct Written {
  std::uint32_t partition = 0;
  // Of the first message. nullopt: a duplicate that is not the newest write of its producer.
  std::optional<std::uint64_t> offset = {};
  bool duplicate = false;  // It was stored before, nothing was stored now.
};

struct MessageReadOptions {
  std::uint32_t partition = 0;
  std::uint64_t offset = 0;  // Below the first stored one: from that on.
  // At least one message is returned if there is one, whatever its size.
  std::size_t bytes_max = std::size_t{1} << 20;  // Of keys, values and headers.
  std::size_t messages_max = 10'000;
  // How long to wait for a message when there is none. When it is over, an empty batch is returned.
  // A read that waits fails with kUnavailable when the Database is destroyed.
  std::chrono::milliseconds wait{0};
};

struct MessageBatch {
  std::vector<Message> messages;
  std::uint64_t next_offset = 0;  // Where to read on.
  std::uint64_t begin = 0;        // The first stored offset of the partition.
  std::uint64_t end = 0;          // The offset of its next message.
  std::shared_ptr<const void> memory;
};

struct CommittedOffset {
  std::uint64_t offset = 0;
  std::string metadata;  // As the consumer gave it.
};

struct PartitionFigures {
  std::uint64_t begin = 0;  // The first stored offset.
  std::uint64_t end = 0;    // The offset of the next message.
  std::uint64_t bytes = 0;  // Stored.
};

class Topic {
 public:
  struct Impl;

  // The topic as it was when this object was obtained. Its partitions and configs are used for
  // writes: after Database::alter_topic() call Database::topic() again.
  const TopicInfo& info() const;
  // Where messages with this key are written.
  std::uint32_t partition_of(std::string_view key) const;

  // Stores all messages or none, in one partition.
  Task<Result<Written>> write(std::span<const Message> messages,
                              const MessageWriteOptions& options = {}) const;
  Task<Result<Written>> write(std::initializer_list<Message> messages,
                              const MessageWriteOptions& options = {}) const;
  // kInvalidArgument also: an offset past the end.
  Task<Result<MessageBatch>> read(MessageReadOptions options) const;

  // Sets how far a consumer (a Kafka consumer group, for example) has read: `offset` is the one
  // that it reads next. Backwards and past the end are allowed.
  Task<Result<void>> commit(std::string consumer, std::uint32_t partition, std::uint64_t offset,
                            std::string metadata = {}) const;
  // nullopt: it has not committed.
  Task<Result<std::optional<CommittedOffset>>> committed(std::string consumer,
                                                         std::uint32_t partition) const;
  Task<Result<PartitionFigures>> figures(std::uint32_t partition) const;

 private:
  explicit Topic(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace moraine
