#include "node/topic_metrics.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

std::size_t count(const std::string& text, const std::string& of) {
  std::size_t found = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) {
    ++found;
  }
  return found;
}

TopicsReport report_of(std::size_t partitions, std::size_t consumers) {
  TopicsReport report;
  TopicReport& topic = report.topics.emplace_back();
  TopicInfo info;
  info.name = "t";
  topic.topic = std::make_shared<const TopicInfo>(info);
  for (std::size_t i = 0; i < partitions; ++i) {
    PartitionReport& partition = topic.partitions.emplace_back();
    partition.index = static_cast<queue::PartitionIndex>(i);
    partition.running = true;
    partition.info.sources = 2;
    for (std::size_t c = 0; c < consumers; ++c) {
      partition.consumers.push_back({fmt::format("c{}", c), 0, c, false});
    }
  }
  return report;
}

TEST(TopicMetrics, HasTheLagOfEveryConsumerUpToTheBound) {
  const std::string few = to_prometheus(report_of(2, 3), {});
  EXPECT_EQ(count(few, "\nmoraine_topic_lag_messages{"), 6u);
  EXPECT_EQ(count(few, "partition=\"1\",consumer=\"c2\"} 2\n"), 1u);
  const std::string many = to_prometheus(report_of(20, kReportedConsumersMax / 10), {});
  EXPECT_EQ(count(many, "\nmoraine_topic_lag_messages{"), kReportedConsumersMax);
}

TEST(TopicMetrics, HasTheFirstPartitionsUpToTheBound) {
  const std::string many = to_prometheus(report_of(kReportedPartitionsMax + 5, 0), {});
  EXPECT_EQ(count(many, "\nmoraine_topic_end_offset{"), kReportedPartitionsMax);
  EXPECT_EQ(count(many, fmt::format("\nmoraine_partitions {}\n", kReportedPartitionsMax + 5)), 1u)
      << "the sums have all";
}

TEST(TopicMetrics, HasTheSumsOfTheNodeAndTheirLimits) {
  const std::string text = to_prometheus(report_of(5, 3), {});
  EXPECT_EQ(count(text, "\nmoraine_partitions 5\n"), 1u);
  EXPECT_EQ(count(text, fmt::format("\nmoraine_partitions_max {}\n", kPartitionsPerNodeMax)), 1u);
  EXPECT_EQ(count(text, "\nmoraine_sources 10\n"), 1u);
  EXPECT_EQ(count(text, fmt::format("\nmoraine_sources_max {}\n", queue::kNodeSourcesMax)), 1u);
  EXPECT_EQ(count(text, "\nmoraine_consumers 15\n"), 1u);
  EXPECT_EQ(count(text, fmt::format("\nmoraine_consumers_max {}\n", queue::kNodeConsumersMax)), 1u);
}

}  // namespace
}  // namespace moraine
