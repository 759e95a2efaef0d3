// TopicsReport: statistics of all topics of a node at one moment.
//
// Promise    Plain values, without references to the topics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/topics.h"
#include "queue/partition.h"
#include "tablet/tablet_info.h"

namespace moraine {

struct ConsumerReport {
  std::string consumer;
  queue::Offset offset = 0;  // Committed; for a declared consumer without one, the start.
  std::uint64_t lag = 0;     // Stored messages that it has not read.
  bool important = false;
};

struct PartitionReport {
  queue::PartitionIndex index = 0;
  TabletId tablet;
  bool running = false;  // When false, nothing below is known.
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

// The statistics of a partition; declared consumers are listed even when they have read nothing.
PartitionReport report_of(const queue::Partition& partition, const TopicInfo& topic);

}  // namespace moraine
