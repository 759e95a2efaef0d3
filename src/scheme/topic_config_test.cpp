#include "scheme/topic_config.h"

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
  const std::pair<const char*, const char*> wrong[] = {
      {"retention.hours", "1"},
      {"retention.ms", "-2"},
      {"retention.ms", "1h"},
      {"retention.ms", ""},
      {"retention.ms", "9223372036854775808"},
      {"cleanup.policy", "compact"},
      {"cleanup.policy", "compact,delete"},
      {"cleanup.policy", ""},
      {"cleanup.policy", "shred"},
      {"compression.type", "brotli"},
      {"compression.type", "gzip,lz4"},
      {"compression.zstd.level", "23"},
      {"flush.messages", "0"},
      {"preallocate", "yes"},
      {"remote.storage.enable", "true"},
      {"min.cleanable.dirty.ratio", "1.5"},
      {"message.format.version", "newest"},
      {"message.timestamp.after.max.ms", "-1"},
      {"leader.replication.throttled.replicas", "all"},
      {"min.insync.replicas", "2"},
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

// What deployment tools set, with values that are not the defaults.
TEST(TopicConfig, EveryConfigOfKafkaIsAcceptedAndSaysWhetherItHasAnEffect) {
  const std::pair<const char*, const char*> harmless[] = {
      {"delete.retention.ms", "1000"},
      {"file.delete.delay.ms", "0"},
      {"flush.messages", "1"},
      {"flush.ms", "1000"},
      {"follower.replication.throttled.replicas", "0:1,1:2"},
      {"index.interval.bytes", "0"},
      {"leader.replication.throttled.replicas", "*"},
      {"local.retention.bytes", "-2"},
      {"local.retention.ms", "1000"},
      {"max.compaction.lag.ms", "1"},
      {"message.downconversion.enable", "false"},
      {"message.format.version", "2.8"},
      {"min.cleanable.dirty.ratio", "0.01"},
      {"min.compaction.lag.ms", "5"},
      {"preallocate", "true"},
      {"remote.log.copy.disable", "true"},
      {"remote.log.delete.on.disable", "true"},
      {"segment.bytes", "1048576"},
      {"segment.index.bytes", "4"},
      {"segment.jitter.ms", "10"},
      {"segment.ms", "3600000"},
      {"unclean.leader.election.enable", "true"},
  };
  for (const auto& [name, value] : harmless) {
    const auto checked = check_topic_config(name, value);
    ASSERT_TRUE(checked) << checked.error().message();
    EXPECT_FALSE(find_topic_config(name)->has_effect) << name;
    EXPECT_TRUE(find_topic_config(name)->meaning.starts_with("No effect: ")) << name;
  }
  const auto without_effect = std::ranges::count(topic_configs(), false, &ConfigInfo::has_effect);
  EXPECT_EQ(without_effect, std::ssize(harmless));
}

TEST(TopicConfig, CodecsAndBoundsOfTimeReachTheSettings) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  TopicInfo topic;
  EXPECT_FALSE(topic_settings(topic).bounds_time());
  EXPECT_EQ(topic_settings(topic).compression, TopicCompression::kProducer);
  topic.config = {{"message.timestamp.difference.max.ms", "70"}};
  EXPECT_EQ(topic_settings(topic).before_max_ms, 70);
  EXPECT_EQ(topic_settings(topic).after_max_ms, 70);
  topic.config["message.timestamp.after.max.ms"] = "5";
  EXPECT_EQ(topic_settings(topic).before_max_ms, 70);
  EXPECT_EQ(topic_settings(topic).after_max_ms, 5);
  topic.config = {{"message.timestamp.before.max.ms", "9"}};
  EXPECT_EQ(topic_settings(topic).before_max_ms, 9);
  EXPECT_EQ(topic_settings(topic).after_max_ms, kNone);
  EXPECT_TRUE(topic_settings(topic).bounds_time());
  topic.config = {{"compression.type", "zstd"}, {"compression.gzip.level", "2"}};
  EXPECT_EQ(topic_settings(topic).compression, TopicCompression::kZstd);
  EXPECT_EQ(topic_settings(topic).compression_level, std::nullopt);
  topic.config["compression.zstd.level"] = "-5";
  EXPECT_EQ(topic_settings(topic).compression_level, -5);
  topic.config = {{"compression.type", "uncompressed"}};
  EXPECT_EQ(topic_settings(topic).compression, TopicCompression::kNone);
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
  EXPECT_EQ(config.low_watermark, plain.low_watermark);
  EXPECT_EQ(config.source_lifetime_ms, plain.source_lifetime_ms);
  EXPECT_EQ(config.sources_max, plain.sources_max);
  EXPECT_EQ(partitions_per_tablet(topic, 100, 1), 16u);
  EXPECT_EQ(partitions_per_tablet(topic, 100, 4), 16u);
  EXPECT_EQ(partitions_per_tablet(topic, 16, 2), 8u);
  EXPECT_EQ(partitions_per_tablet(topic, 3, 2), 2u);
  EXPECT_EQ(partitions_per_tablet(topic, 1, 8), 1u);
}

TEST(TopicConfig, ConfigsReachTheSettings) {
  TopicInfo topic;
  topic.config = {{"retention.ms", "-1"},
                  {"retention.bytes", "5000"},
                  {"message.timestamp.type", "LogAppendTime"},
                  {"moraine.write.quota", "77"},
                  {"moraine.low.watermark", "65536"},
                  {"moraine.sources.lifetime.ms", "3600000"},
                  {"moraine.sources.max", "1000"},
                  {"moraine.partitions.per.tablet", "2"},
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
  EXPECT_EQ(config.low_watermark, 65'536u);
  EXPECT_EQ(config.source_lifetime_ms, 3'600'000u);
  EXPECT_EQ(config.sources_max, 1'000u);
  EXPECT_EQ(partitions_per_tablet(topic, 16, 1), 2u);
  EXPECT_EQ(partitions_per_tablet(topic, 16, 8), 2u);
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
