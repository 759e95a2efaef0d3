#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/repeats.h"

namespace moraine::kafka {
namespace {

using Topic = MetadataResponse::Topic;

constexpr std::string_view kNoSasl =
    "this listener has no SASL; connect with security.protocol=PLAINTEXT";
// Versions of FindCoordinator whose error text clients show.
constexpr std::int16_t kVersionOfShownTexts = 4;

// The memory of the result of describe().
std::size_t described_bytes(const TopicInfo& info) {
  constexpr std::size_t kNodeListBytes = 32;  // The smallest allocation.
  constexpr std::size_t kPartitionBytes = sizeof(MetadataResponse::Partition) + 2 * kNodeListBytes;
  return 2 * sizeof(Topic) + info.name.size() + info.partitions * kPartitionBytes;
}

Topic describe(const ServerContext& server, const TopicInfo& info) {
  Topic topic;
  topic.name = info.name;
  topic.topic_id = to_uuid(info.id);
  topic.partitions.reserve(info.partitions);
  for (std::uint32_t i = 0; i < info.partitions; ++i) {
    MetadataResponse::Partition& partition = topic.partitions.emplace_back();
    partition.partition_index = static_cast<std::int32_t>(i);
    partition.leader_id = server.options.node_id;
    partition.leader_epoch = kLeaderEpoch;
    partition.replica_nodes = {server.options.node_id};
    partition.isr_nodes = {server.options.node_id};
  }
  return topic;
}

// Without partitions and with an error when there is no memory for them.
Task<Topic> describe_within(const ServerContext& server, TopicPtr info, AnswerRoom& room) {
  if (co_await room.take(described_bytes(*info))) co_return describe(server, *info);
  Topic topic;
  topic.name = info->name;
  topic.topic_id = to_uuid(info->id);
  topic.error_code = ErrorCode::kInvalidRequest;
  co_return topic;
}

Task<std::vector<Topic>> describe_all(const ServerContext& server, AnswerRoom& room) {
  std::vector<Topic> topics;
  for (const TopicPtr& info : server.topics.list()) {
    topics.push_back(co_await describe_within(server, info, room));
    if (topics.back().error_code == ErrorCode::kNone) continue;
    if (co_await room.take(2 * sizeof(Topic) + info->name.size())) continue;
    room.give_up();
    break;
  }
  co_return topics;
}

// Creates a topic that a client named, or returns why not.
Task<ErrorCode> auto_create(ServerContext& server, std::string name, const Client& client) {
  if (!check_topic_name(name)) co_return ErrorCode::kInvalidTopic;
  TopicSpec spec;
  spec.partitions = server.options.default_partitions;
  const auto created = co_await server.topics.create(name, std::move(spec));
  if (created || server.topics.find(name)) co_return ErrorCode::kNone;
  const auto refuse = [&](ErrorCode code) {
    server.log_refusal(client, fmt::format("no topic {}: {}", name, created.error().context));
    return code;
  };
  switch (created.error().code) {
    // The path is a folder or a table, or one above it is a topic: clients do not retry.
    case Errc::kAlreadyExists:
    case Errc::kInvalidArgument: co_return refuse(ErrorCode::kInvalidTopic);
    case Errc::kOverloaded: co_return refuse(ErrorCode::kLeaderNotAvailable);
    default: co_return ErrorCode::kLeaderNotAvailable;  // Clients retry.
  }
}

Task<Topic> find_named(ServerContext& server, std::string name, bool may_create,
                       const RequestContext& about) {
  TopicPtr info = server.topics.find(name);
  ErrorCode error = ErrorCode::kUnknownTopicOrPartition;
  if (!info && may_create) {
    error = co_await auto_create(server, name, *about.client);
    info = server.topics.find(name);
    if (!info && error == ErrorCode::kNone) error = ErrorCode::kLeaderNotAvailable;
  }
  if (info) co_return co_await describe_within(server, std::move(info), *about.room);
  Topic topic;
  topic.name = name;
  topic.error_code = check_topic_name(name) ? error : ErrorCode::kInvalidTopic;
  co_return topic;
}

Topic unknown_id(const Uuid& id) {
  Topic topic;
  topic.name = std::nullopt;
  topic.topic_id = id;
  topic.error_code = ErrorCode::kUnknownTopicId;
  return topic;
}

}  // namespace

Task<ApiVersionsResponse> serve(ServerContext&, ApiVersionsRequest, RequestContext) {
  co_return offered_apis({});
}

Task<SaslHandshakeResponse> serve(ServerContext& server, SaslHandshakeRequest,
                                  RequestContext about) {
  server.log_refusal(*about.client, kNoSasl);
  SaslHandshakeResponse response;
  response.error_code = server.metrics.counted(ErrorCode::kIllegalSaslState);
  co_return response;
}

Task<SaslAuthenticateResponse> serve(ServerContext& server, SaslAuthenticateRequest,
                                     RequestContext about) {
  server.log_refusal(*about.client, kNoSasl);
  SaslAuthenticateResponse response;
  response.error_code = server.metrics.counted(ErrorCode::kIllegalSaslState);
  response.error_message = kNoSasl;
  co_return response;
}

Task<MetadataResponse> serve(ServerContext& server, MetadataRequest request, RequestContext about) {
  constexpr std::int16_t kVersionOfNullNames = 12;
  const KafkaOptions& options = server.options;
  MetadataResponse response;
  response.brokers.push_back(
      {options.node_id, options.advertised_host, options.advertised_port, std::nullopt});
  response.cluster_id = options.cluster_id;
  response.controller_id = options.node_id;
  if (!request.topics) {
    response.topics = co_await describe_all(server, *about.room);
    co_return response;
  }
  const bool may_create = request.allow_auto_topic_creation && options.auto_create_topics;
  // Repeated names are answered once: an answer is much larger than a name.
  std::set<std::pair<std::optional<std::string>, Uuid>> seen;
  for (MetadataRequest::Topic& asked : *request.topics) {
    // Clients that request by id send an empty name.
    const bool by_id = !asked.topic_id.is_zero() || !asked.name;
    if (by_id) asked.name.reset();
    if (!seen.emplace(asked.name, asked.topic_id).second) continue;
    if (about.client->disconnected()) break;
    if (!by_id) {
      response.topics.push_back(co_await find_named(server, *asked.name, may_create, about));
    } else if (TopicPtr info = server.topics.find(to_topic_id(asked.topic_id))) {
      response.topics.push_back(co_await describe_within(server, std::move(info), *about.room));
    } else {
      response.topics.push_back(unknown_id(asked.topic_id));
    }
    Topic& topic = response.topics.back();
    if (!topic.name && about.version < kVersionOfNullNames) topic.name = std::string();
    server.metrics.counted(topic.error_code);
  }
  co_return response;
}

Task<FindCoordinatorResponse> serve(ServerContext& server, FindCoordinatorRequest request,
                                    RequestContext about) {
  FindCoordinatorResponse response;
  const bool transactional = request.key_type != CoordinatorKind::kGroup;
  // Older clients retry for ever after any other code.
  const ErrorCode refusal = about.version < kVersionOfShownTexts
                                ? ErrorCode::kTransactionalIdAuthorizationFailed
                                : ErrorCode::kUnsupportedVersion;
  if (transactional) server.log_refusal(*about.client, kNoTransactions);
  Repeats named;
  for (const std::string& key : request.keys) {
    if (!named.first(key)) continue;
    FindCoordinatorResponse::Coordinator& coordinator = response.coordinators.emplace_back();
    coordinator.key = key;
    if (transactional) {
      coordinator.error_code = server.metrics.counted(refusal);
      coordinator.error_message = kNoTransactions;
      continue;
    }
    coordinator.node_id = server.options.node_id;
    coordinator.host = server.options.advertised_host;
    coordinator.port = server.options.advertised_port;
  }
  co_return response;
}

Task<DescribeClusterResponse> serve(ServerContext& server, DescribeClusterRequest request,
                                    RequestContext) {
  const KafkaOptions& options = server.options;
  DescribeClusterResponse response;
  if (request.endpoint_type != EndpointType::kBrokers) {
    const bool controllers = request.endpoint_type == EndpointType::kControllers;
    response.error_code = server.metrics.counted(controllers ? ErrorCode::kMismatchedEndpointType
                                                             : ErrorCode::kUnsupportedEndpointType);
    response.error_message = "this is a broker's address";
    co_return response;
  }
  response.cluster_id = options.cluster_id;
  response.controller_id = options.node_id;
  response.brokers.push_back(
      {options.node_id, options.advertised_host, options.advertised_port, std::nullopt});
  co_return response;
}

Task<InitProducerIdResponse> serve(ServerContext& server, InitProducerIdRequest request,
                                   RequestContext about) {
  InitProducerIdResponse response;
  if (request.transactional_id) {
    server.log_refusal(*about.client, kNoTransactions);
    response.error_code = server.metrics.counted(ErrorCode::kTransactionalIdAuthorizationFailed);
    co_return response;
  }
  const Result<std::int64_t> id = co_await server.producer_ids.next();
  if (!id) {
    response.error_code = server.metrics.counted(ErrorCode::kCoordinatorNotAvailable);
    co_return response;
  }
  response.producer_id = *id;
  response.producer_epoch = 0;
  co_return response;
}

}  // namespace moraine::kafka
