// TopicsReport: how all topics of a node are doing, at one moment.
//
// Promise    Plain values, without a way back to the topics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "queue/partition.h"
#include "service/topics.h"
#include "tablet/tablet_info.h"

namespace moraine {

struct ConsumerReport {
  std::string consumer;
  queue::Offset offset = 0;  // Committed; for a declared consumer without one, the start.
  std::uint64_t lag = 0;     // Messages there that it has not read.
  bool important = false;
};

struct PartitionReport {
  queue::PartitionIndex index = 0;
  TabletId tablet;
  bool running = false;  // When not, nothing below is known.
  queue::PartitionInfo info;
  std::vector<ConsumerReport> consumers;  // By name.
};

struct TopicReport {
  TopicPtr topic;
  std::vector<PartitionReport> partitions;
};

struct TopicsReport {
  std::vector<TopicReport> topics;  // By name.
  std::uint64_t tablets_running = 0;
  std::uint64_t tablets_starting = 0;
  std::uint64_t tablets_being_deleted = 0;
  bool scheme_running = false;
};

// What the partition says of itself; declared consumers are named even when they have read nothing.
PartitionReport report_of(const queue::Partition& partition, const TopicInfo& topic);

}  // namespace moraine
