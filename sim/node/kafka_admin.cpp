#include "sim/node/kafka_admin.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

using kafka::ErrorCode;

namespace {

constexpr std::int32_t kTimeoutMs = 8'000;
constexpr std::uint64_t kPauseMaxMs = 1'500;
constexpr Duration kRetryPause = 200ms;
constexpr int kUseTries = 10;
constexpr std::uint64_t kCloses = 10;  // Turns between two lost connections, on average.
constexpr const char* kConfig = "retention.ms";
constexpr std::uint64_t kRetentionMin = 86'400'000;  // Longer than clocks jump.

bool has_topic(const kafka::MetadataResponse& response, const std::string& name) {
  return std::ranges::any_of(response.topics, [&](const auto& topic) {
    return topic.name == name && topic.error_code == ErrorCode::kNone;
  });
}

}  // namespace

KafkaAdmin::KafkaAdmin(KafkaStage& stage)
    : stage_(stage),
      random_(stage.world.stream("kafka admin")),
      link_(stage.world, stage.machines, stage.history, "admin") {}

void KafkaAdmin::count(bool answered, ErrorCode error) {
  stage_.count(TopicCommand::kChangeTopic, answered, error == ErrorCode::kNone);
}

Task<void> KafkaAdmin::run() {
  co_await make_topics();
  while (stage_.keep_running()) {
    co_await sleep_for(stage_.world.executor(), Duration(1ms) * (1 + random_.below(kPauseMaxMs)));
    if (random_.one_in(kCloses)) link_.close();
    if (!stage_.keep_running() || !link_.open(random_)) continue;
    switch (random_.below(4)) {
      case 0: co_await grow(); break;
      case 1: co_await change_config(); break;
      default: co_await use_own_topic();
    }
  }
  link_.close();
}

Task<void> KafkaAdmin::make_topics() {
  for (std::uint64_t topic = 1; topic <= stage_.plan.topics;) {
    if (!stage_.keep_running()) co_return;
    const std::string name = KafkaStage::topic_name(topic);
    if (!link_.open(random_) || !co_await create(name, stage_.plan.partitions)) {
      co_await sleep_for(stage_.world.executor(), kRetryPause);
      continue;
    }
    stage_.partitions[topic++] = stage_.plan.partitions;
  }
}

// An existing topic counts as created: an earlier request was carried out.
Task<bool> KafkaAdmin::create(std::string name, std::size_t partitions) {
  kafka::CreateTopicsRequest request;
  request.timeout_ms = kTimeoutMs;
  kafka::CreateTopicsRequest::Topic topic;
  topic.name = name;
  topic.num_partitions = static_cast<std::int32_t>(partitions);
  topic.configs.push_back({"moraine.partitions.per.tablet", random_.one_in(2) ? "1" : "2"});
  request.topics.push_back(std::move(topic));
  const auto response = co_await link_.ask(std::move(request));
  const bool answered = response && response->topics.size() == 1;
  const ErrorCode error = answered ? response->topics[0].error_code : ErrorCode::kNone;
  count(answered, error);
  if (stage_.history.verbose()) {
    stage_.history.say(
        fmt::format("create {}: {}", name, answered ? kafka::to_string(error) : "no answer"));
  }
  if (!answered) co_return false;
  if (error != ErrorCode::kNone && error != ErrorCode::kTopicAlreadyExists) co_return false;
  stage_.absent.erase(name);
  stage_.present.insert(name);
  co_return true;
}

Task<bool> KafkaAdmin::remove(std::string name) {
  stage_.present.erase(name);
  kafka::DeleteTopicsRequest request;
  request.timeout_ms = kTimeoutMs;
  request.topics.push_back({name, {}});
  const auto response = co_await link_.ask(std::move(request));
  const bool answered = response && response->topics.size() == 1;
  const ErrorCode error = answered ? response->topics[0].error_code : ErrorCode::kNone;
  count(answered, error);
  if (stage_.history.verbose()) {
    stage_.history.say(
        fmt::format("delete {}: {}", name, answered ? kafka::to_string(error) : "no answer"));
  }
  if (!answered || error != ErrorCode::kNone) co_return false;
  stage_.absent.insert(name);
  co_return true;
}

Task<void> KafkaAdmin::grow() {
  const std::uint64_t topic = 1 + random_.below(stage_.plan.topics);
  const std::size_t wanted = stage_.partitions[topic] + 1;
  if (wanted > stage_.plan.partitions_max) co_return;
  kafka::CreatePartitionsRequest request;
  request.timeout_ms = kTimeoutMs;
  request.topics.push_back(
      {KafkaStage::topic_name(topic), static_cast<std::int32_t>(wanted), std::nullopt});
  const auto response = co_await link_.ask(std::move(request));
  const bool answered = response && response->results.size() == 1;
  count(answered, answered ? response->results[0].error_code : ErrorCode::kNone);
  // kInvalidPartitions: an earlier request was carried out.
  if (!answered) co_return;
  const ErrorCode error = response->results[0].error_code;
  if (error == ErrorCode::kNone || error == ErrorCode::kInvalidPartitions) {
    stage_.partitions[topic] = wanted;
  }
}

Task<void> KafkaAdmin::change_config() {
  const std::string value = std::to_string(kRetentionMin + random_.below(kRetentionMin));
  kafka::IncrementalAlterConfigsRequest request;
  kafka::IncrementalAlterConfigsRequest::Resource resource;
  resource.resource_type = kafka::ResourceType::kTopic;
  resource.resource_name = KafkaStage::topic_name(1);
  resource.configs.push_back({kConfig, kafka::ConfigOperation::kSet, value});
  request.resources.push_back(std::move(resource));
  maybe_.insert(value);
  const auto response = co_await link_.ask(std::move(request));
  const bool answered = response && response->responses.size() == 1;
  const ErrorCode error = answered ? response->responses[0].error_code : ErrorCode::kNone;
  count(answered, error);
  if (!answered || error != ErrorCode::kNone) co_return;
  config_ = value;
  maybe_.erase(value);
  const auto found = co_await config_of(KafkaStage::topic_name(1));
  if (found && *found != value && !maybe_.contains(*found)) {
    stage_.history.fail(fmt::format("{} was set to {}, and is {}", kConfig, value, *found));
  }
}

Task<std::optional<std::string>> KafkaAdmin::config_of(std::string topic) {
  kafka::DescribeConfigsRequest request;
  kafka::DescribeConfigsRequest::Resource resource;
  resource.resource_type = kafka::ResourceType::kTopic;
  resource.resource_name = std::move(topic);
  resource.configuration_keys = {kConfig};
  request.resources.push_back(std::move(resource));
  const auto response = co_await link_.ask(std::move(request));
  if (!response || response->results.size() != 1) co_return std::nullopt;
  for (const auto& config : response->results[0].configs) {
    if (config.name == kConfig) co_return config.value;
  }
  co_return std::nullopt;
}

// Created, used, deleted, created again and deleted.
Task<void> KafkaAdmin::use_own_topic() {
  const std::string name = fmt::format("own{}", ++own_topics_);
  if (!co_await create(name, 1 + random_.below(3))) co_return;
  if (!co_await expect(name, true) || !co_await use(name) || random_.one_in(4)) co_return;
  if (!co_await remove(name) || !co_await expect(name, false) || random_.one_in(3)) co_return;
  stage_.absent.erase(name);
  if (!co_await create(name, 1) || !co_await use(name)) co_return;
  (void)co_await remove(name);
}

Task<bool> KafkaAdmin::use(std::string name) {
  const MessageName message{0, own_topics_};
  const SentMessage sent{64, 1, 0, false, false, std::nullopt};
  for (int tries = 0; tries < kUseTries; ++tries) {
    kafka::ProduceRequest request;
    request.timeout_ms = kTimeoutMs;
    kafka::ProduceRequest::Partition partition;
    partition.records.slices.push_back(batch_of(message, sent, -1, -1));
    request.topics.push_back({name, {}});
    request.topics[0].partitions.push_back(std::move(partition));
    const auto response = co_await link_.ask(std::move(request));
    if (!response) co_return false;
    const auto& answer = response->topics.at(0).partitions.at(0);
    if (answer.error_code == ErrorCode::kNone) {
      if (answer.base_offset == 0) co_return true;
      stage_.history.fail(
          fmt::format("the first record of {} got offset {}", name, answer.base_offset));
      co_return false;
    }
    // The outcome of a write that timed out is unknown.
    if (answer.error_code != ErrorCode::kNotLeaderOrFollower) co_return false;
    co_await sleep_for(stage_.world.executor(), kRetryPause);
  }
  co_return false;
}

Task<std::optional<kafka::MetadataResponse>> KafkaAdmin::metadata(std::optional<std::string> name) {
  kafka::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  if (name) {
    request.topics.emplace();
    request.topics->push_back({{}, *name});
  }
  co_return co_await link_.ask(std::move(request));
}

Task<bool> KafkaAdmin::expect(std::string name, bool there) {
  const auto response = co_await metadata(name);
  if (!response) co_return false;
  if (has_topic(*response, name) != there) {
    stage_.history.fail(fmt::format("topic {} was {}, and is {} on the same connection", name,
                                    there ? "created" : "deleted", there ? "not there" : "there"));
  }
  co_return true;
}

Task<bool> KafkaAdmin::check(std::size_t lane) {
  if (!link_.open_lane(lane)) co_return false;
  const auto response = co_await metadata(std::nullopt);
  if (!response) co_return false;
  for (const std::string& name : stage_.present) {
    if (has_topic(*response, name)) continue;
    stage_.history.fail(
        fmt::format("topic {} was created, and lane {} does not have it", name, lane));
  }
  for (const std::string& name : stage_.absent) {
    if (!has_topic(*response, name)) continue;
    stage_.history.fail(fmt::format("topic {} was deleted, and lane {} has it", name, lane));
  }
  for (const auto& topic : response->topics) {
    for (const auto& [number, partitions] : stage_.partitions) {
      if (topic.name != KafkaStage::topic_name(number)) continue;
      if (topic.partitions.size() < partitions) {
        stage_.history.fail(fmt::format("topic {} has {} partitions on lane {}; {} were created",
                                        number, topic.partitions.size(), lane, partitions));
      }
      stage_.partitions[number] = topic.partitions.size();
    }
  }
  const auto value = co_await config_of(KafkaStage::topic_name(1));
  if (!value) co_return false;
  if (config_ && *value != *config_ && !maybe_.contains(*value)) {
    stage_.history.fail(fmt::format("{} was set to {}, and is {}", kConfig, *config_, *value));
  }
  co_return true;
}

}  // namespace moraine::sim
