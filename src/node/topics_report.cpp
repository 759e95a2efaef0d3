#include "node/topics_report.h"

#include <algorithm>

namespace moraine {

PartitionReport report_of(const queue::Partition& partition, const TopicInfo& topic) {
  PartitionReport report;
  report.running = true;
  report.info = partition.info();
  std::map<std::string, ConsumerReport> consumers;
  for (const auto& [name, declared] : topic.consumers) {
    ConsumerReport& consumer = consumers[name];
    consumer.offset = report.info.start;
    consumer.important = declared.important;
  }
  for (const queue::ConsumerOffset& committed : partition.all_committed()) {
    consumers[committed.consumer].offset = committed.offset;
  }
  for (auto& [name, consumer] : consumers) {
    consumer.consumer = name;
    const queue::Offset next = std::max(consumer.offset, report.info.start);
    consumer.lag = next < report.info.end ? report.info.end - next : 0;
    report.consumers.push_back(std::move(consumer));
  }
  return report;
}

}  // namespace moraine
