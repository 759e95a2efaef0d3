// TopicReader: reads messages of partitions, from a position on.
//
// Promise    Every message from the positions on is given once and in order within its partition;
//            what the server has removed is passed over, and said so. positions() is always the
//            first offset that was not given.
// Threading  Blocks; one thread.
// Limits     kFetchAnswerBytes for one answer, or one batch.
// Errors     Those of KafkaClient, and refusals by name. kCorrupt: a batch whose checksum is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/topic_client.h"
#include "gateway/kafka/protocol/records.h"

namespace moraine::app {

inline constexpr std::int32_t kFetchAnswerBytes = 16 << 20;
inline constexpr std::int32_t kFetchPartitionBytes = 4 << 20;

class TopicReader {
 public:
  // False: no more.
  using Take = std::function<bool(std::int32_t partition, const kafka::Record& record)>;

  // `client` outlives this. `ends`: where to end; without it there is no end.
  TopicReader(TopicClient& client, std::string topic, PartitionOffsets positions,
              std::optional<PartitionOffsets> ends)
      : client_(client),
        topic_(std::move(topic)),
        positions_(std::move(positions)),
        ends_(std::move(ends)) {}

  const PartitionOffsets& positions() const { return positions_; }
  // Nothing is left before the ends, or a Take said so.
  bool done() const;
  // Asks the server once and gives what it answers; it waits that long for a message. False: there
  // was none.
  Result<bool> poll(Duration wait, const Take& take);

 private:
  bool at_end(std::int32_t partition) const;
  kafka::FetchRequest next_request(Duration wait);
  Result<bool> take_partition(const kafka::FetchResponse::Partition& answer, const Take& take);
  Result<void> take_batch(std::int32_t partition, const kafka::RecordBatch& batch,
                          const Take& take);
  // The position is outside of what the partition has.
  Result<void> find_anew(std::int32_t partition);

  TopicClient& client_;
  const std::string topic_;
  PartitionOffsets positions_;
  std::optional<PartitionOffsets> ends_;
  std::size_t turn_ = 0;  // Which partition is asked for first.
  bool stopped_ = false;
};

}  // namespace moraine::app
