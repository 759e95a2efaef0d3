// TopicModel: what producers and consumers of partitions were promised, and what they saw.
//
// Promise    Reports to the history: an acknowledged message that is lost, unread, stored twice or
//            in another order than its producer's; an offset with two contents; a message that was
//            never sent, or was refused; an acknowledged consumer's offset that is lost; a start or
//            end that decreases over restarts; a start past the important consumer.
// Threading  The thread of the simulation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "queue/partition.h"
#include "sim/history.h"

namespace moraine::sim {

inline constexpr const char* kAuditor = "auditor";  // The important consumer of every partition.

// One partition of one tablet.
struct PartitionName {
  std::uint64_t tablet = 0;
  queue::PartitionIndex index = 0;
  auto operator<=>(const PartitionName&) const = default;
};

// One entry that a producer writes.
struct MessageName {
  std::uint32_t producer = 0;
  std::uint64_t index = 0;  // Counts the producer's entries.
  auto operator<=>(const MessageName&) const = default;
};

struct SentMessage {
  std::size_t size = 0;
  std::uint32_t count = 1;
  std::uint64_t number = 0;
  bool acknowledged = false;
  bool refused = false;  // And never sent again.
  std::optional<queue::Offset> offset;
};

// The payload begins with the name, and is derived from it.
std::string payload_of(const MessageName& name, std::size_t size);

class TopicModel {
 public:
  explicit TopicModel(History& history) : history_(history) {}

  void sent(const PartitionName& partition, const MessageName& name, SentMessage message);
  // With the offset when the reply had it.
  void acknowledged(const PartitionName& partition, const MessageName& name,
                    std::optional<queue::Offset> offset);
  // The reply promised that nothing was stored, and it is not sent again.
  void refused(const PartitionName& partition, const MessageName& name);
  void seen(const PartitionName& partition, const queue::StoredEntry& entry);

  void commit_sent(const PartitionName& partition, const std::string& consumer,
                   queue::Offset offset);
  void commit_done(const PartitionName& partition, const std::string& consumer,
                   queue::Offset offset);
  // The offset that was acknowledged to a consumer.
  queue::Offset committed(const PartitionName& partition, const std::string& consumer);

  // Start and end as one incarnation reports them.
  void bounds(const PartitionName& partition, std::uint64_t generation, queue::Offset start,
              queue::Offset end);
  // A partition as a new incarnation has loaded it.
  void booted(const PartitionName& partition, std::uint64_t generation,
              const queue::Partition& loaded);
  // The important consumer has read everything up to `end`.
  void finished(const PartitionName& partition, queue::Offset end);

  std::uint64_t messages_acknowledged() const { return messages_acknowledged_; }

 private:
  struct Commits {
    std::optional<queue::Offset> durable;
    std::set<queue::Offset> maybe;  // Sent since then.
  };
  struct Record {
    std::map<MessageName, SentMessage> messages;
    std::map<queue::Offset, MessageName> contents;
    std::map<std::string, Commits> consumers;
    queue::Offset start = 0;  // The highest that were seen.
    queue::Offset end = 0;
    std::uint64_t newest = 0;  // Generation that booted.
    std::map<std::uint64_t, std::pair<queue::Offset, queue::Offset>> shown;  // By generation.
  };
  void place(const PartitionName& partition, const MessageName& name, queue::Offset offset);
  void check_order(const PartitionName& partition, const MessageName& name, queue::Offset offset);
  void check_start(const PartitionName& partition, queue::Offset start);
  void fail(const PartitionName& partition, const std::string& what);

  History& history_;
  std::map<PartitionName, Record> records_;
  std::uint64_t messages_acknowledged_ = 0;
};

}  // namespace moraine::sim
