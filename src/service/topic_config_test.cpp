#include "service/topic_config.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace moraine {
namespace {

TEST(TopicConfig, EveryDefaultIsAValueThatTheConfigMayHave) {
  EXPECT_TRUE(std::ranges::is_sorted(topic_configs(), {}, &ConfigInfo::name));
  for (const ConfigInfo& config : topic_configs()) {
    const auto checked =
        check_topic_config(std::string(config.name), std::string(config.default_value));
    EXPECT_TRUE(checked) << checked.error().message();
    EXPECT_FALSE(config.meaning.empty());
  }
}

TEST(TopicConfig, WrongNamesAndValuesAreRefused) {
  const std::pair<const char*, const char*> wrong[] = {{"retention.hours", "1"},
                                                       {"retention.ms", "-2"},
                                                       {"retention.ms", "1h"},
                                                       {"retention.ms", ""},
                                                       {"retention.ms", "9223372036854775808"},
                                                       {"cleanup.policy", "compact"},
                                                       {"cleanup.policy", "compact,delete"},
                                                       {"compression.type", "gzip"},
                                                       {"message.timestamp.type", "createtime"},
                                                       {"min.insync.replicas", "0"},
                                                       {"max.message.bytes", "67108865"},
                                                       {"moraine.max.bytes", "0"},
                                                       {"moraine.write.quota", "-1"},
                                                       {"segment.bytes", "13"},
                                                       {"segment.bytes", "2147483648"}};
  for (const auto& [name, value] : wrong) {
    const auto checked = check_topic_config(name, value);
    ASSERT_FALSE(checked) << name << "=" << value;
    EXPECT_EQ(checked.error().code, Errc::kInvalidArgument);
  }
}

TEST(TopicConfig, WithoutAnyConfigTheDefaultsOfKafkaHold) {
  const TopicInfo topic;
  const TopicSettings settings = topic_settings(topic);
  EXPECT_EQ(settings.retention_ms, 604'800'000u);
  EXPECT_EQ(settings.retention_bytes, std::nullopt);
  EXPECT_EQ(settings.max_message_bytes, 1'048'588u);
  EXPECT_FALSE(settings.log_append_time);
  const queue::PartitionConfig config = partition_config(topic);
  const queue::PartitionConfig plain;
  EXPECT_EQ(config.retention_ms, 604'800'000u);
  EXPECT_EQ(config.count_max, plain.count_max);
  EXPECT_EQ(config.bytes_max, plain.bytes_max);
  EXPECT_EQ(config.write_bytes_per_second, 0u);
}

TEST(TopicConfig, ConfigsReachTheSettings) {
  TopicInfo topic;
  topic.config = {{"retention.ms", "-1"},
                  {"retention.bytes", "5000"},
                  {"message.timestamp.type", "LogAppendTime"},
                  {"moraine.write.quota", "77"},
                  {"moraine.max.bytes", "88"},
                  {"moraine.max.messages", "99"}};
  topic.consumers = {{"billing", {true}}, {"curious", {false}}};
  EXPECT_EQ(topic_settings(topic).retention_ms, std::nullopt);
  EXPECT_TRUE(topic_settings(topic).log_append_time);
  const queue::PartitionConfig config = partition_config(topic);
  EXPECT_EQ(config.retention_ms, std::nullopt);
  EXPECT_EQ(config.retention_bytes, 5'000u);
  EXPECT_EQ(config.write_bytes_per_second, 77u);
  EXPECT_EQ(config.bytes_max, 88u);
  EXPECT_EQ(config.count_max, 99u);
  EXPECT_EQ(config.important_consumers, std::vector<std::string>{"billing"});
}

TEST(TopicConfig, ImportantConsumersAreAListOfNames) {
  const std::string name = "moraine.consumers.important";
  for (const char* value : {"", "billing", "billing,audit", "team/billing.v2"}) {
    EXPECT_TRUE(check_topic_config(name, value)) << value;
  }
  std::string too_many = "0";
  for (std::size_t i = 1; i <= kImportantConsumersMax; ++i) too_many += "," + std::to_string(i);
  const std::string too_long(queue::kConsumerNameBytesMax + 1, 'x');
  for (const std::string& value :
       {std::string(","), std::string("a,"), std::string(",a"), std::string("a,,b"),
        std::string("a, b"), std::string("a,a"), too_many, too_long}) {
    EXPECT_FALSE(check_topic_config(name, value)) << value;
  }
  TopicInfo topic;
  topic.config = {{name, "audit,billing"}};
  topic.consumers = {{"billing", {true}}, {"audit", {false}}};
  const std::vector<std::string> both{"billing", "audit"};
  EXPECT_EQ(partition_config(topic).important_consumers, both) << "each once";
}

}  // namespace
}  // namespace moraine
