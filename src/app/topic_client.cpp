#include "app/topic_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "app/exit_code.h"
#include "app/kafka_error.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/data_folder.h"

namespace moraine::app {
namespace {

using kafka::ErrorCode;

constexpr Duration kRetryPause = 50ms;
// How long an overview waits for partitions that are being started.
constexpr Duration kOverviewPatience = 2s;

std::string place(const std::string& topic, std::int32_t partition) {
  return fmt::format("{}, partition {}", topic, partition);
}

Result<TcpAddress> address_of(const TopicTarget& target) {
  if (target.data.empty()) {
    return parse_address(target.kafka.empty() ? kDefaultKafka : target.kafka);
  }
  TRY(const DataFolder folder, open_data_folder(target.data));
  return read_kafka_address(folder);
}

std::vector<std::int32_t> all_of(std::int32_t count) {
  std::vector<std::int32_t> partitions(static_cast<std::size_t>(std::max(count, 0)));
  std::iota(partitions.begin(), partitions.end(), 0);
  return partitions;
}

// A topic in the folder of this name.
std::optional<std::string> topic_below(const std::map<std::string, std::int32_t>& counts,
                                       const std::string& folder) {
  const auto below = counts.lower_bound(folder + "/");
  if (below == counts.end() || !below->first.starts_with(folder + "/")) return std::nullopt;
  return below->first;
}

kafka::ListOffsetsRequest::Topic offsets_of(const std::string& topic,
                                            const std::vector<std::int32_t>& partitions,
                                            std::int64_t timestamp) {
  kafka::ListOffsetsRequest::Topic asked;
  asked.name = topic;
  for (const std::int32_t partition : partitions) {
    asked.partitions.push_back({.partition_index = partition, .timestamp = timestamp});
  }
  return asked;
}

}  // namespace

Result<void> TopicClient::reconnect() {
  TRY(TcpAddress address, address_of(target_));
  return kafka_.reconnect(std::move(address));
}

std::int32_t TopicClient::timeout_ms() const {
  return static_cast<std::int32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(kafka_.timeout()).count());
}

template <class T>
Result<T> TopicClient::patiently(const std::function<Result<T>()>& attempt) {
  const auto deadline = std::chrono::steady_clock::now() + kafka_.timeout();
  while (true) {
    Result<T> result = attempt();
    const bool passing = !result && result.error().code == Errc::kOverloaded;
    if (!passing || std::chrono::steady_clock::now() >= deadline) return result;
    std::this_thread::sleep_for(kRetryPause);
  }
}

Result<std::map<std::string, std::int32_t>> TopicClient::partition_counts() {
  kafka::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  TRY(const kafka::MetadataResponse found, kafka_.call(request));
  std::map<std::string, std::int32_t> counts;
  for (const kafka::MetadataResponse::Topic& topic : found.topics) {
    counts[topic.name.value_or("")] = static_cast<std::int32_t>(topic.partitions.size());
  }
  return counts;
}

Result<std::int32_t> TopicClient::partition_count(const std::string& topic) {
  auto count = count_partitions(topic, false);
  if (count || count.error().code != Errc::kNotFound) return count;
  const auto counts = partition_counts();
  const auto below = counts ? topic_below(*counts, topic) : std::nullopt;
  if (!below) return count;
  return fail(Errc::kNotFound,
              fmt::format("{} is a folder, not a topic: {} exists below it", topic, *below));
}

Result<std::int32_t> TopicClient::partition_count_or_create(const std::string& topic) {
  auto count = count_partitions(topic, false);
  if (count || count.error().code != Errc::kNotFound) return count;
  if (auto clash = name_clash(topic)) return std::unexpected(std::move(*clash));
  return count_partitions(topic, true);
}

std::optional<Error> TopicClient::name_clash(const std::string& topic) {
  const auto counts = partition_counts();
  if (!counts) return std::nullopt;
  if (const auto below = topic_below(*counts, topic)) {
    return Error{
        Errc::kAlreadyExists,
        fmt::format("{} is a folder: {} exists below it; take another name", topic, *below)};
  }
  for (std::size_t slash = topic.find('/'); slash != std::string::npos;
       slash = topic.find('/', slash + 1)) {
    const std::string above = topic.substr(0, slash);
    if (!counts->contains(above)) continue;
    return Error{Errc::kAlreadyExists,
                 fmt::format("{} is a topic, so there can be no {} below it", above, topic)};
  }
  return std::nullopt;
}

Result<std::int32_t> TopicClient::count_partitions(const std::string& topic, bool may_create) {
  kafka::MetadataRequest request;
  request.allow_auto_topic_creation = may_create;
  request.topics = {{{{}, topic}}};
  return patiently<std::int32_t>([&]() -> Result<std::int32_t> {
    TRY(const kafka::MetadataResponse found, kafka_.call(request));
    if (found.topics.size() != 1) {
      return std::unexpected(kafka_error(ErrorCode::kUnknownTopicOrPartition, topic));
    }
    TRY_VOID(check_answer(found.topics.front().error_code, topic));
    return static_cast<std::int32_t>(found.topics.front().partitions.size());
  });
}

Result<std::vector<std::int32_t>> TopicClient::partitions(const std::string& topic,
                                                          std::optional<std::int32_t> wanted) {
  TRY(const std::int32_t count, partition_count(topic));
  if (!wanted) return all_of(count);
  if (*wanted >= 0 && *wanted < count) return std::vector{*wanted};
  return fail(Errc::kNotFound,
              fmt::format("{} has no partition {}: it has 0 to {}", topic, *wanted, count - 1));
}

Result<PartitionOffsets> TopicClient::offsets(const std::string& topic,
                                              const std::vector<std::int32_t>& partitions,
                                              std::int64_t timestamp) {
  kafka::ListOffsetsRequest request;
  request.topics = {offsets_of(topic, partitions, timestamp)};
  return patiently<PartitionOffsets>([&]() -> Result<PartitionOffsets> {
    TRY(const kafka::ListOffsetsResponse response, kafka_.call(request));
    PartitionOffsets offsets;
    for (const auto& answer : response.topics) {
      for (const auto& partition : answer.partitions) {
        TRY_VOID(check_answer(partition.error_code, place(topic, partition.partition_index)));
        offsets[partition.partition_index] = partition.offset;
      }
    }
    if (offsets.size() == partitions.size()) return offsets;
    return fail(Errc::kUnavailable, topic + ": the server did not answer for every partition");
  });
}

Result<std::map<std::string, PartitionOffsets>> TopicClient::offsets(
    const std::map<std::string, std::int32_t>& counts, std::int64_t timestamp) {
  kafka::ListOffsetsRequest request;
  for (const auto& [topic, count] : counts) {
    request.topics.push_back(offsets_of(topic, all_of(count), timestamp));
  }
  const auto deadline =
      std::chrono::steady_clock::now() + std::min<Duration>(kOverviewPatience, kafka_.timeout());
  while (true) {
    TRY(const kafka::ListOffsetsResponse response, kafka_.call(request));
    std::map<std::string, PartitionOffsets> found;
    bool starting = false;
    for (const auto& answer : response.topics) {
      for (const auto& partition : answer.partitions) {
        starting |= is_passing(partition.error_code);
        if (partition.error_code != ErrorCode::kNone) continue;
        found[answer.name][partition.partition_index] = partition.offset;
      }
    }
    if (!starting || std::chrono::steady_clock::now() >= deadline) return found;
    std::this_thread::sleep_for(kRetryPause);
  }
}

Result<std::vector<std::string>> TopicClient::groups() {
  TRY(const kafka::ListGroupsResponse response, kafka_.call(kafka::ListGroupsRequest{}));
  TRY_VOID(check_answer(response.error_code, "groups"));
  std::vector<std::string> names;
  for (const auto& group : response.groups) names.push_back(group.group_id);
  std::ranges::sort(names);
  return names;
}

Result<PartitionOffsets> TopicClient::committed(const std::string& group, const std::string& topic,
                                                const std::vector<std::int32_t>& partitions) {
  kafka::OffsetFetchRequest request;
  request.groups.push_back({group, {{{topic, partitions}}}});
  return patiently<PartitionOffsets>([&]() -> Result<PartitionOffsets> {
    TRY(const kafka::OffsetFetchResponse response, kafka_.call(request));
    PartitionOffsets offsets;
    for (const auto& answer : response.groups) {
      TRY_VOID(check_answer(answer.error_code, "group " + group));
      for (const auto& one : answer.topics) {
        for (const auto& partition : one.partitions) {
          TRY_VOID(check_answer(partition.error_code, "group " + group));
          if (partition.committed_offset < 0) continue;
          offsets[partition.partition_index] = partition.committed_offset;
        }
      }
    }
    return offsets;
  });
}

Result<void> TopicClient::commit(const std::string& group, const std::string& topic,
                                 const PartitionOffsets& offsets) {
  kafka::OffsetCommitRequest request;
  request.group_id = group;
  kafka::OffsetCommitRequest::Topic& asked = request.topics.emplace_back();
  asked.name = topic;
  for (const auto& [partition, offset] : offsets) {
    kafka::OffsetCommitRequest::Partition& one = asked.partitions.emplace_back();
    one.partition_index = partition;
    one.committed_offset = offset;
  }
  return patiently<void>([&]() -> Result<void> {
    TRY(const kafka::OffsetCommitResponse response, kafka_.call(request));
    for (const auto& answer : response.topics) {
      for (const auto& partition : answer.partitions) {
        TRY_VOID(check_answer(partition.error_code,
                              fmt::format("commit of group {} on {}", group,
                                          place(topic, partition.partition_index))));
      }
    }
    return {};
  });
}

Result<kafka::DescribeConfigsResponse> TopicClient::describe_configs(const std::string& topic) {
  kafka::DescribeConfigsRequest request;
  request.resources.push_back({kafka::ResourceType::kTopic, topic, std::nullopt});
  TRY(kafka::DescribeConfigsResponse response, kafka_.call(request));
  for (const auto& resource : response.results) {
    TRY_VOID(check_answer(resource.error_code, topic, resource.error_message));
  }
  return response;
}

Result<std::map<std::string, std::string>> TopicClient::configs(const std::string& topic) {
  TRY(const kafka::DescribeConfigsResponse response, describe_configs(topic));
  std::map<std::string, std::string> found;
  for (const auto& resource : response.results) {
    for (const auto& config : resource.configs) {
      if (config.config_source != kafka::ConfigSource::kDynamicTopic) continue;
      found[config.name] = config.value.value_or("");
    }
  }
  return found;
}

Result<std::string> TopicClient::config(const std::string& topic, const std::string& name) {
  TRY(const kafka::DescribeConfigsResponse response, describe_configs(topic));
  for (const auto& resource : response.results) {
    for (const auto& config : resource.configs) {
      if (config.name == name) return config.value.value_or("");
    }
  }
  return fail(Errc::kNotFound, fmt::format("{} has no config {}", topic, name));
}

int report_topic_error(const Error& error) {
  const std::string why = error.context.empty() ? error.message() : error.context;
  switch (error.code) {
    case Errc::kNotFound:
    case Errc::kAlreadyExists:
    case Errc::kConflict:
    case Errc::kCorrupt: return report(kExitNegative, why);
    case Errc::kOverloaded: return report(kExitUnreachable, why);
    default: return report(exit_code_of(error.code), why);
  }
}

int run_on_server(const TopicTarget& target, const TopicCommand& command) {
  const auto address = address_of(target);
  if (!address) {
    const ExitCode code = exit_code_of(address.error().code);
    return report(code, address.error().context);
  }
  const auto timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(target.timeout_seconds));
  auto kafka = KafkaClient::connect(*address, timeout);
  if (!kafka) return report_topic_error(kafka.error());
  TopicClient client(std::move(*kafka), target);
  const auto result = command(client);
  return result ? *result : report_topic_error(result.error());
}

}  // namespace moraine::app
