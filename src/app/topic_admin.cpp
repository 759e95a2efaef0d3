// moraine topic create, alter, remove
#include <fmt/format.h>

#include "app/exit_code.h"
#include "app/kafka_error.h"
#include "app/table.h"
#include "app/topic_arguments.h"
#include "app/topic_client.h"
#include "base/json.h"

namespace moraine::app {
namespace {

constexpr const char* kImportantConfig = "moraine.consumers.important";

using Configs = std::map<std::string, std::string>;

struct NewTopic {
  Configs configs;
  std::vector<ConsumerWord> consumers;
};

// The important consumers are a config of the topic.
Result<NewTopic> plan_topic(const TopicCreateOptions& options) {
  NewTopic plan;
  TRY(plan.configs, parse_configs(options.configs));
  TRY_VOID(check_configs(plan.configs, {}));
  std::string important;
  for (const std::string& word : options.consumers) {
    TRY(ConsumerWord consumer, parse_consumer(word));
    if (consumer.important) important += (important.empty() ? "" : ",") + consumer.name;
    plan.consumers.push_back(std::move(consumer));
  }
  if (important.empty()) return plan;
  if (plan.configs.contains(kImportantConfig)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("give --consumer NAME:important or --config {}, not both", kImportantConfig));
  }
  plan.configs[kImportantConfig] = important;
  return plan;
}

Result<void> create_topic(TopicClient& client, const TopicCreateOptions& options,
                          const Configs& configs) {
  kafka::CreateTopicsRequest request;
  request.timeout_ms = client.timeout_ms();
  kafka::CreateTopicsRequest::Topic& topic = request.topics.emplace_back();
  topic.name = options.name;
  topic.num_partitions = static_cast<std::int32_t>(options.partitions);
  for (const auto& [name, value] : configs) topic.configs.push_back({name, value});
  TRY(const kafka::CreateTopicsResponse response, client.kafka().call(request));
  for (const auto& answer : response.topics) {
    TRY_VOID(check_answer(answer.error_code, options.name, answer.error_message));
  }
  return {};
}

// A consumer is known from its first commit on.
Result<void> make_consumers(TopicClient& client, const std::string& topic,
                            const std::vector<ConsumerWord>& consumers) {
  if (consumers.empty()) return {};
  TRY(const std::vector<std::int32_t> partitions, client.partitions(topic, std::nullopt));
  PartitionOffsets start;
  for (const std::int32_t partition : partitions) start[partition] = 0;
  for (const ConsumerWord& consumer : consumers) {
    TRY_VOID(client.commit(consumer.name, topic, start));
  }
  return {};
}

void say_done(const TopicTarget& target, const std::string& name, std::string_view done) {
  if (!target.json) {
    fmt::print("{} {}\n", done, name);
    return;
  }
  Json json;
  json.object().field("status", "OK").field("topic", name).field("done", done).end();
  fmt::print("{}\n", json.take());
}

Result<void> alter_configs(TopicClient& client, const TopicAlterOptions& options,
                           const Configs& configs, bool only_check) {
  if (configs.empty() && options.unset.empty()) return {};
  kafka::IncrementalAlterConfigsRequest request;
  request.validate_only = only_check;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = kafka::ResourceType::kTopic;
  resource.resource_name = options.name;
  for (const auto& [name, value] : configs) {
    resource.configs.push_back({name, kafka::ConfigOperation::kSet, value});
  }
  for (const std::string& name : options.unset) {
    resource.configs.push_back({name, kafka::ConfigOperation::kDelete, std::nullopt});
  }
  TRY(const kafka::IncrementalAlterConfigsResponse response, client.kafka().call(request));
  for (const auto& answer : response.responses) {
    TRY_VOID(check_answer(answer.error_code, options.name, answer.error_message));
  }
  return {};
}

Result<void> add_partitions(TopicClient& client, const TopicAlterOptions& options,
                            bool only_check) {
  if (options.partitions == 0) return {};
  kafka::CreatePartitionsRequest request;
  request.timeout_ms = client.timeout_ms();
  request.validate_only = only_check;
  auto& topic = request.topics.emplace_back();
  topic.name = options.name;
  topic.count = static_cast<std::int32_t>(options.partitions);
  TRY(const kafka::CreatePartitionsResponse response, client.kafka().call(request));
  for (const auto& answer : response.results) {
    TRY_VOID(check_answer(answer.error_code, options.name, answer.error_message));
  }
  return {};
}

Result<int> alter(TopicClient& client, const TopicAlterOptions& options, const Configs& configs) {
  TRY(const std::int32_t count, client.partition_count(options.name));
  if (options.partitions != 0 && options.partitions <= static_cast<std::uint32_t>(count)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} has {}; the new total must be more (topics never shrink)",
                            options.name, counted(static_cast<std::uint64_t>(count), "partition")));
  }
  // Both are checked before anything is changed.
  for (const bool only_check : {true, false}) {
    TRY_VOID(alter_configs(client, options, configs, only_check));
    TRY_VOID(add_partitions(client, options, only_check));
  }
  say_done(options.target, options.name, "altered");
  return kExitOk;
}

// Prints what would be removed.
Result<int> warn(TopicClient& client, const std::string& name,
                 const std::vector<std::int32_t>& partitions) {
  TRY(const PartitionOffsets starts, client.offsets(name, partitions, kafka::kEarliestOffset));
  TRY(const PartitionOffsets ends, client.offsets(name, partitions, kafka::kLatestOffset));
  std::int64_t messages = 0;
  for (const auto& [partition, end] : ends) messages += end - starts.at(partition);
  return report(kExitUsage,
                fmt::format("this would remove {} with {} and {}; nothing was removed: give --yes",
                            name, counted(partitions.size(), "partition"),
                            counted(static_cast<std::uint64_t>(messages), "message")));
}

Result<int> remove(TopicClient& client, const TopicRemoveOptions& options) {
  TRY(const std::vector<std::int32_t> partitions, client.partitions(options.name, std::nullopt));
  if (!options.yes) return warn(client, options.name, partitions);
  kafka::DeleteTopicsRequest request;
  request.timeout_ms = client.timeout_ms();
  request.topics.push_back({options.name, {}});
  TRY(const kafka::DeleteTopicsResponse response, client.kafka().call(request));
  for (const auto& answer : response.topics) {
    TRY_VOID(check_answer(answer.error_code, options.name, answer.error_message));
  }
  say_done(options.target, options.name, "removed");
  return kExitOk;
}

}  // namespace

int run_topic_create(const TopicCreateOptions& options) {
  const auto plan = plan_topic(options);
  if (!plan) return report(plan.error());
  return run_on_server(options.target, [&](TopicClient& client) -> Result<int> {
    if (auto created = create_topic(client, options, plan->configs); !created) {
      return std::unexpected(client.name_clash(options.name).value_or(created.error()));
    }
    TRY_VOID(make_consumers(client, options.name, plan->consumers));
    say_done(options.target, options.name, "created");
    return kExitOk;
  });
}

int run_topic_alter(const TopicAlterOptions& options) {
  const auto configs = parse_configs(options.configs);
  if (!configs) return report(configs.error());
  if (configs->empty() && options.unset.empty() && options.partitions == 0) {
    return report(kExitUsage, "nothing to alter: give --partitions, --config or --unset");
  }
  if (const auto checked = check_configs(*configs, options.unset); !checked) {
    return report(checked.error());
  }
  return run_on_server(options.target,
                       [&](TopicClient& client) { return alter(client, options, *configs); });
}

int run_topic_remove(const TopicRemoveOptions& options) {
  return run_on_server(options.target,
                       [&](TopicClient& client) { return remove(client, options); });
}

}  // namespace moraine::app
