// LogCheck: one read of all partitions from their beginnings, compared with the truth.
//
// Promise    see() reports everything that must not be in a log, finish() what is missing.
// Threading  One thread. Nothing is sent while it lives; the group may continue.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "crash/topics/topic_truth.h"

namespace moraine::crash {

struct LogCheckCounts {
  std::uint64_t read = 0;
  std::uint64_t verified = 0;  // Acknowledged messages that are as and where they must be.
};

class LogCheck {
 public:
  explicit LogCheck(TopicTruth& truth);

  // The messages of a partition, in the order in which they arrive.
  void see(std::int32_t partition, std::int64_t offset, std::string_view bytes);
  // Where the next message of a partition is expected.
  std::int64_t next(std::int32_t partition) const;
  LogCheckCounts finish();

 private:
  struct Known {
    SentMessage sent;
    std::int64_t seen_at = -1;
  };
  struct PartitionLog {
    std::int64_t next = 0;
    std::vector<std::int64_t> last_number;  // By producer; -1: none.
  };
  void check_known(Known& known, const MessageId& id, std::int32_t partition, std::int64_t offset);

  TopicTruth& truth_;
  std::vector<std::vector<Known>> known_;  // By producer and number.
  std::vector<PartitionLog> logs_;
  LogCheckCounts counts_;
};

}  // namespace moraine::crash
