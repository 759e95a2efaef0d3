// TopicReader: reads messages of partitions, from a position on.
//
// Promise    Every message from the positions on is returned once and in order within its
//            partition; removed messages are skipped with a notice. positions() is always the first
//            offset that was not returned.
// Threading  Blocks; one thread.
// Limits     kFetchAnswerBytes for one answer, or one batch.
// Errors     Those of KafkaClient, and refusals by name. kCorrupt: a batch whose checksum is wrong,
//            or that the server cannot read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/topic_client.h"
#include "queue/kafka/records.h"

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
  // All messages before the ends were read, or a Take ended the reading.
  bool done() const;
  // Sends one request, which waits that long for a message, and passes on the messages. False:
  // there was none.
  Result<bool> poll(Duration wait, const Take& take);

 private:
  bool at_end(std::int32_t partition) const;
  kafka::FetchRequest next_request(Duration wait);
  Result<bool> take_partition(const kafka::FetchResponse::Partition& answer, const Take& take);
  Result<void> take_batch(std::int32_t partition, const kafka::RecordBatch& batch,
                          const Take& take);
  // The position is outside the partition's offsets.
  Result<void> find_anew(std::int32_t partition);

  TopicClient& client_;
  const std::string topic_;
  PartitionOffsets positions_;
  std::optional<PartitionOffsets> ends_;
  std::size_t turn_ = 0;  // Which partition comes first in the next request.
  bool stopped_ = false;
};

}  // namespace moraine::app
