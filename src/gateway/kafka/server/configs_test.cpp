#include <gtest/gtest.h>

#include "gateway/kafka/server/server_test_util.h"

namespace moraine::kafka {
namespace {

class ConfigsTest : public KafkaServerTest {
 protected:
  // The value of one config of topic "t", and where it is from.
  std::pair<std::string, ConfigSource> config(const std::string& name, std::int16_t version = 4) {
    DescribeConfigsRequest request;
    request.resources.push_back({ResourceType::kTopic, "t", std::vector{name}});
    const auto response = ask(request, version);
    const auto& found = response.results.at(0).configs.at(0);
    EXPECT_EQ(found.name, name);
    return {found.value.value_or("null"), found.config_source};
  }
  CreateTopicsResponse::Topic create(const std::string& name,
                                     std::vector<CreateTopicsRequest::Config> configs) {
    CreateTopicsRequest request;
    CreateTopicsRequest::Topic topic;
    topic.name = name;
    topic.num_partitions = 1;
    topic.replication_factor = 1;
    topic.configs = std::move(configs);
    request.topics.push_back(std::move(topic));
    return ask(request, 7).topics.at(0);
  }
};

TEST_F(ConfigsTest, ConfigsAreSetReplacedAndTakenBack) {
  make_topic("t");
  EXPECT_EQ(config("retention.ms"), std::pair(std::string("604800000"), ConfigSource::kDefault));
  IncrementalAlterConfigsRequest change;
  change.resources.push_back({ResourceType::kTopic, "t", {}});
  change.resources[0].configs.push_back({"retention.ms", ConfigOperation::kSet, "5000"});
  EXPECT_EQ(ask(change, 1).responses[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(config("retention.ms"), std::pair(std::string("5000"), ConfigSource::kDynamicTopic));
  change.resources[0].configs[0] = {"retention.ms", ConfigOperation::kDelete, std::nullopt};
  EXPECT_EQ(ask(change, 1).responses[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(config("retention.ms").second, ConfigSource::kDefault);
  change.resources[0].configs[0] = {"no.such", ConfigOperation::kSet, "1"};
  EXPECT_EQ(ask(change, 1).responses[0].error_code, ErrorCode::kInvalidConfig);
  AlterConfigsRequest replace;
  replace.resources.push_back({ResourceType::kTopic, "t", {{"max.message.bytes", "77"}}});
  EXPECT_EQ(ask(replace, 1).responses[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(config("max.message.bytes").first, "77");
  replace.resources[0].configs = {{"retention.bytes", "9"}};
  replace.validate_only = true;
  EXPECT_EQ(ask(replace, 2).responses[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(config("max.message.bytes").first, "77");
  replace.validate_only = false;
  EXPECT_EQ(ask(replace, 2).responses[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(config("max.message.bytes").second, ConfigSource::kDefault);
}

TEST_F(ConfigsTest, ConfigsWithoutEffectAreStoredAndSaySo) {
  ASSERT_EQ(
      create("t", {{"segment.ms", "1000"}, {"flush.ms", "5"}, {"preallocate", "true"}}).error_code,
      ErrorCode::kNone);
  EXPECT_EQ(config("segment.ms"), std::pair(std::string("1000"), ConfigSource::kDynamicTopic));
  DescribeConfigsRequest request;
  request.resources.push_back(
      {ResourceType::kTopic, "t", std::vector<std::string>{"segment.ms", "index.interval.bytes"}});
  request.include_synonyms = true;
  request.include_documentation = true;
  const auto configs = ask(request, 4).results.at(0).configs;
  ASSERT_EQ(configs.size(), 2u);
  EXPECT_EQ(configs[0].name, "index.interval.bytes");
  EXPECT_EQ(configs[0].config_source, ConfigSource::kDefault);
  ASSERT_EQ(configs[0].synonyms.size(), 1u);
  EXPECT_EQ(configs[0].synonyms[0].name, "log.index.interval.bytes");
  EXPECT_FALSE(configs[1].read_only);
  ASSERT_EQ(configs[1].synonyms.size(), 2u);
  EXPECT_EQ(configs[1].synonyms[0].value, "1000");
  EXPECT_EQ(configs[1].synonyms[0].source, ConfigSource::kDynamicTopic);
  EXPECT_EQ(configs[1].synonyms[1].name, "log.roll.ms");
  EXPECT_EQ(configs[1].synonyms[1].value, "604800000");
  EXPECT_EQ(configs[1].documentation->find("No effect: "), 0u);
}

TEST_F(ConfigsTest, ConfigsThatWouldPromiseTooMuchAreRefused) {
  make_topic("t");
  const std::pair<const char*, const char*> refused[] = {{"cleanup.policy", "compact"},
                                                         {"min.insync.replicas", "2"},
                                                         {"remote.storage.enable", "true"}};
  for (const auto& [name, value] : refused) {
    const auto made = create("n", {{name, value}});
    EXPECT_EQ(made.error_code, ErrorCode::kInvalidConfig) << name;
    EXPECT_NE(made.error_message->find(name), std::string::npos) << *made.error_message;
    IncrementalAlterConfigsRequest change;
    change.resources.push_back({ResourceType::kTopic, "t", {}});
    change.resources[0].configs.push_back({name, ConfigOperation::kSet, value});
    EXPECT_EQ(ask(change, 1).responses[0].error_code, ErrorCode::kInvalidConfig) << name;
  }
}

TEST_F(ConfigsTest, TwoConcurrentAppendsToAListBothSucceed) {
  make_topic("t");
  IncrementalAlterConfigsRequest change;
  change.resources.push_back({ResourceType::kTopic, "t", {}});
  auto& configs = change.resources[0].configs;
  configs.push_back({"moraine.consumers.important", ConfigOperation::kAppend, "a"});
  const auto first = send(change, 1);
  connect();
  configs[0].value = "b";
  EXPECT_EQ(ask(change, 1).responses[0].error_code, ErrorCode::kNone);
  client_.swap(others_.front());
  EXPECT_EQ(receive<IncrementalAlterConfigsResponse>(first).responses[0].error_code,
            ErrorCode::kNone);
  EXPECT_EQ(config("moraine.consumers.important").first, "a,b");
}

TEST_F(ConfigsTest, TheBrokerDescribesItsConfigs) {
  DescribeConfigsRequest request;
  request.resources.push_back({ResourceType::kBroker, "1", std::nullopt});
  request.resources.push_back({ResourceType::kBroker, "2", std::nullopt});
  request.resources.push_back({ResourceType::kTopic, "x", std::nullopt});
  const auto response = ask(request, 1);
  EXPECT_GT(response.results[0].configs.size(), 3u);
  EXPECT_EQ(response.results[1].error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(response.results[2].error_code, ErrorCode::kUnknownTopicOrPartition);
}

}  // namespace
}  // namespace moraine::kafka
