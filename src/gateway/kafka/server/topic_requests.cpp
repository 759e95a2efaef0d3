#include <fmt/format.h>

#include <set>
#include <utility>

#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/repeats.h"
#include "scheme/topic_config.h"

namespace moraine::kafka {
namespace {

constexpr std::int32_t kServersDefault = -1;
constexpr std::int16_t kReplicas = 1;

std::unexpected<Refusal> bad_assignment() {
  return refuse(ErrorCode::kInvalidReplicaAssignment, "there is one broker");
}

Checked<std::uint32_t> partitions_of(const ServerContext& server,
                                     const CreateTopicsRequest::Topic& asked) {
  if (!asked.assignments.empty()) {
    if (asked.num_partitions != kServersDefault || asked.replication_factor != kServersDefault) {
      return refuse(ErrorCode::kInvalidRequest, "both counts and assignments are given");
    }
    std::set<std::int32_t> indexes;
    const auto count = static_cast<std::int32_t>(asked.assignments.size());
    for (const CreateTopicsRequest::Assignment& assignment : asked.assignments) {
      const bool here = assignment.broker_ids == std::vector{server.options.node_id};
      const bool dense = assignment.partition_index >= 0 && assignment.partition_index < count;
      if (!here || !dense || !indexes.insert(assignment.partition_index).second) {
        return bad_assignment();
      }
    }
    return static_cast<std::uint32_t>(count);
  }
  if (asked.num_partitions == kServersDefault) return server.options.default_partitions;
  if (asked.num_partitions < 1) {
    return refuse(ErrorCode::kInvalidPartitions,
                  fmt::format("{} partitions", asked.num_partitions));
  }
  return static_cast<std::uint32_t>(asked.num_partitions);
}

// Kafka's checks, in its order, which determines the error that a client sees.
Checked<TopicSpec> spec_of(const ServerContext& server, const CreateTopicsRequest::Topic& asked) {
  if (auto named = check_topic_name(asked.name); !named) {
    return refuse(ErrorCode::kInvalidTopic, named.error().context);
  }
  if (server.topics.find(asked.name)) {
    return refuse(ErrorCode::kTopicAlreadyExists, fmt::format("topic {} exists", asked.name));
  }
  auto partitions = partitions_of(server, asked);
  if (!partitions) return std::unexpected(std::move(partitions.error()));
  if (*partitions > kPartitionsPerTopicMax) {
    return refuse(ErrorCode::kInvalidPartitions,
                  fmt::format("{} partitions, more than {}", *partitions, kPartitionsPerTopicMax));
  }
  if (asked.replication_factor != kServersDefault && asked.replication_factor != kReplicas) {
    return refuse(ErrorCode::kInvalidReplicationFactor,
                  fmt::format("replication factor {} with one broker", asked.replication_factor));
  }
  TopicSpec spec;
  spec.partitions = *partitions;
  for (const CreateTopicsRequest::Config& config : asked.configs) {
    if (!config.value) {
      return refuse(ErrorCode::kInvalidConfig, fmt::format("{} is null", config.name));
    }
    if (auto checked = check_topic_config(config.name, *config.value); !checked) {
      return refuse(ErrorCode::kInvalidConfig, checked.error().context);
    }
    spec.config[config.name] = *config.value;
  }
  return spec;
}

std::vector<CreateTopicsResponse::Config> describe_configs(const TopicSpec& spec) {
  std::vector<CreateTopicsResponse::Config> configs;
  for (const ConfigInfo& info : topic_configs()) {
    const auto set = spec.config.find(std::string(info.name));
    const bool is_set = set != spec.config.end();
    CreateTopicsResponse::Config& config = configs.emplace_back();
    config.name = info.name;
    config.value = is_set ? set->second : std::string(info.default_value);
    config.config_source =
        static_cast<std::int8_t>(is_set ? ConfigSource::kDynamicTopic : ConfigSource::kDefault);
  }
  return configs;
}

void refuse_with(CreateTopicsResponse::Topic& answer, Refusal refusal) {
  answer.error_code = refusal.code;
  answer.error_message = std::move(refusal.message);
}

// The memory of the result of describe_configs().
std::size_t described_bytes(const TopicSpec& spec) {
  std::size_t bytes = 0;
  for (const ConfigInfo& info : topic_configs()) {
    bytes += 2 * sizeof(CreateTopicsResponse::Config) + info.name.size();
    bytes += info.default_value.size();
  }
  for (const auto& [name, value] : spec.config) bytes += value.size();
  return bytes;
}

Task<void> create_topic(ServerContext& server, CreateTopicsRequest::Topic asked, bool only_check,
                        AnswerRoom& room, CreateTopicsResponse::Topic& answer) {
  auto spec = spec_of(server, asked);
  if (spec && !co_await room.take(described_bytes(*spec))) {
    spec = refuse(ErrorCode::kInvalidRequest, "too many topics in one request");
  }
  if (!spec) {
    refuse_with(answer, std::move(spec.error()));
    co_return;
  }
  if (!only_check) {
    const auto created = co_await server.topics.create(asked.name, *spec);
    if (!created) {
      refuse_with(answer, {topic_error(created.error()), created.error().context});
      co_return;
    }
    answer.topic_id = to_uuid((*created)->id);
  }
  answer.num_partitions = static_cast<std::int32_t>(spec->partitions);
  answer.replication_factor = kReplicas;
  answer.configs = describe_configs(*spec);
}

Task<void> delete_topic(ServerContext& server, DeleteTopicsRequest::Topic asked,
                        DeleteTopicsResponse::Topic& answer) {
  answer.name = asked.name;
  answer.topic_id = asked.topic_id;
  const TopicPtr topic = asked.name ? server.topics.find(*asked.name)
                                    : server.topics.find(to_topic_id(asked.topic_id));
  if (!topic) {
    answer.error_code =
        asked.name ? ErrorCode::kUnknownTopicOrPartition : ErrorCode::kUnknownTopicId;
    co_return;
  }
  answer.name = topic->name;
  answer.topic_id = to_uuid(topic->id);
  const Result<void> removed = co_await server.topics.remove(topic->name);
  if (removed) co_return;
  answer.error_code = topic_error(removed.error());
  answer.error_message = removed.error().context;
}

Task<Checked<void>> add_partitions(ServerContext& server, CreatePartitionsRequest::Topic asked,
                                   bool only_check) {
  const TopicPtr topic = server.topics.find(asked.name);
  if (!topic) co_return refuse(ErrorCode::kUnknownTopicOrPartition, "there is no such topic");
  const auto now = static_cast<std::int64_t>(topic->partitions);
  if (asked.count <= now || asked.count > std::int64_t{kPartitionsPerTopicMax}) {
    co_return refuse(ErrorCode::kInvalidPartitions,
                     fmt::format("{} partitions, from {}; at most {}", asked.count, now,
                                 kPartitionsPerTopicMax));
  }
  if (asked.assignments) {
    if (std::ssize(*asked.assignments) != asked.count - now) co_return bad_assignment();
    for (const CreatePartitionsRequest::Assignment& assignment : *asked.assignments) {
      if (assignment.broker_ids != std::vector{server.options.node_id}) co_return bad_assignment();
    }
  }
  if (only_check) co_return Checked<void>();
  TopicChange change;
  change.partitions = static_cast<std::uint32_t>(asked.count);
  const auto altered = co_await server.topics.alter(asked.name, std::move(change));
  if (!altered) co_return refuse(topic_error(altered.error()), altered.error().context);
  co_return Checked<void>();
}

}  // namespace

Task<CreateTopicsResponse> serve(ServerContext& server, CreateTopicsRequest request,
                                 RequestContext about) {
  Occurrences names;
  for (const CreateTopicsRequest::Topic& asked : request.topics) names.add(asked.name);
  CreateTopicsResponse response;
  for (const CreateTopicsRequest::Topic& asked : request.topics) {
    if (about.client->disconnected()) break;
    CreateTopicsResponse::Topic& answer = response.topics.emplace_back();
    answer.name = asked.name;
    if (names.repeated(asked.name)) {
      refuse_with(answer, {ErrorCode::kInvalidRequest, "the topic is named twice"});
    } else {
      co_await create_topic(server, asked, request.validate_only, *about.room, answer);
    }
    server.metrics.counted(answer.error_code);
  }
  co_return response;
}

Task<DeleteTopicsResponse> serve(ServerContext& server, DeleteTopicsRequest request,
                                 RequestContext about) {
  const auto name_of = [](const DeleteTopicsRequest::Topic& asked) {
    return asked.name ? std::string_view(*asked.name) : as_text(asked.topic_id.bytes);
  };
  Occurrences names;
  for (const DeleteTopicsRequest::Topic& asked : request.topics) {
    names.add(name_of(asked), asked.name.has_value());
  }
  DeleteTopicsResponse response;
  for (const DeleteTopicsRequest::Topic& asked : request.topics) {
    if (about.client->disconnected()) break;
    DeleteTopicsResponse::Topic& answer = response.topics.emplace_back();
    if (names.repeated(name_of(asked), asked.name.has_value())) {
      answer.name = asked.name;
      answer.topic_id = asked.topic_id;
      answer.error_code = ErrorCode::kInvalidRequest;
      answer.error_message = "the topic is named twice";
    } else {
      co_await delete_topic(server, asked, answer);
    }
    server.metrics.counted(answer.error_code);
  }
  co_return response;
}

Task<CreatePartitionsResponse> serve(ServerContext& server, CreatePartitionsRequest request,
                                     RequestContext about) {
  Occurrences names;
  for (const CreatePartitionsRequest::Topic& asked : request.topics) names.add(asked.name);
  CreatePartitionsResponse response;
  for (const CreatePartitionsRequest::Topic& asked : request.topics) {
    if (about.client->disconnected()) break;
    CreatePartitionsResponse::Topic& answer = response.results.emplace_back();
    answer.name = asked.name;
    Checked<void> added = refuse(ErrorCode::kInvalidRequest, "the topic is named twice");
    if (!names.repeated(asked.name)) {
      added = co_await add_partitions(server, asked, request.validate_only);
    }
    if (added) continue;
    answer.error_code = server.metrics.counted(added.error().code);
    answer.error_message = added.error().message;
  }
  co_return response;
}

Task<DeleteRecordsResponse> serve(ServerContext& server, DeleteRecordsRequest request,
                                  RequestContext about) {
  DeleteRecordsResponse response;
  Repeats named;
  for (const DeleteRecordsRequest::Topic& asked : request.topics) {
    if (about.client->disconnected()) break;
    DeleteRecordsResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    for (const DeleteRecordsRequest::Partition& partition : asked.partitions) {
      DeleteRecordsResponse::Partition& answer = topic.partitions.emplace_back();
      answer.partition_index = partition.partition_index;
      const FoundPartition found = find_partition(server, asked.name, partition.partition_index);
      answer.error_code = found.error;
      if (found.partition && partition.offset < kHighWatermark) {
        answer.error_code = ErrorCode::kOffsetOutOfRange;
      }
      if (!named.first(asked.name, partition.partition_index)) {
        answer.error_code = ErrorCode::kInvalidRequest;
      }
      if (server.metrics.counted(answer.error_code) != ErrorCode::kNone) continue;
      const queue::Offset to = partition.offset == kHighWatermark
                                   ? found.partition->info().end
                                   : static_cast<queue::Offset>(partition.offset);
      const Result<queue::Offset> start = co_await found.partition->trim(to);
      if (start) {
        answer.low_watermark = static_cast<std::int64_t>(*start);
      } else {
        answer.error_code = server.metrics.counted(partition_error(start.error()));
      }
    }
  }
  co_return response;
}

}  // namespace moraine::kafka
