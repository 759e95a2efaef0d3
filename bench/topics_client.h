// The client of the topic benchmarks: librdkafka with the same settings against every broker.
//
// Messages are kMessageBytes of random text, not compressed, acks=all, linger 1 ms. Partitions take
// turns, kMessagesPerTurn messages each, as the sticky partitioners of today's clients do. With a
// codec the text is that of events (event_text.h), in batches of kCompressedBatchBytes at most.
//
// Threading  Plain blocking calls; each opens clients of its own.
// Limits     At most kMessagesWaitingMax messages wait for their acknowledgement.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/measure.h"

namespace moraine::bench {

inline constexpr std::uint32_t kMessageBytes = 1'024;
inline constexpr std::uint32_t kMessagesWaitingMax = 16'384;
// Messages sent to one partition before the next one's turn.
inline constexpr std::uint64_t kMessagesPerTurn = 64;
// The default of the Java client, before compression.
inline constexpr std::uint32_t kCompressedBatchBytes = 16'384;

struct TopicLoad {
  std::string address;
  std::string topic;
  std::int32_t partitions = 1;
  bool idempotent = false;
  std::string codec = "none";  // As librdkafka names it.
};

// Waits until the broker answers, up to a minute.
Result<void> create_topic(const TopicLoad& load);
Result<void> delete_topic(const TopicLoad& load);

// Sends one message to each partition: a broker creates files at the first one.
Result<void> touch(const TopicLoad& load);

// Produces for `seconds` and waits for all acknowledgements. `rate` in messages per second; 0: as
// many as the broker accepts. Latencies, from the call to the acknowledgement, only with a rate.
Result<Round> produce(const TopicLoad& load, double seconds, double rate = 0);

// Reads every partition from its beginning until `count` messages have arrived.
Result<Round> consume(const TopicLoad& load, std::uint64_t count);

// As produce() with a rate, while a consumer reads at the end: latencies from produce to consume.
Result<Round> tail(const TopicLoad& load, double seconds, double rate);

// Waits until a message to an existing topic is acknowledged by a broker that is just starting.
Result<void> first_message(const TopicLoad& load);

}  // namespace moraine::bench
