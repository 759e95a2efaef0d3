// Requests of operators' tools beyond topics, groups and configs. Most of them are not supported,
// and answered in the way that tools expect.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gateway/kafka/server/handlers.h"

namespace moraine::kafka {
namespace {

// The only log folder that clients see.
constexpr std::string_view kLogDir = "moraine";
// Of one DescribeTopicPartitions response, whatever the client requests.
constexpr std::int32_t kDescribedPartitionsMax = 2'000;

// The requested partitions, each once, however often it was named.
using Asked = std::map<std::string, std::set<std::int32_t>>;

Asked once_each(const std::vector<NamedPartitions>& topics) {
  Asked asked;
  for (const NamedPartitions& topic : topics) {
    asked[topic.topic].insert(topic.partitions.begin(), topic.partitions.end());
  }
  return asked;
}

// Null for all: every partition of every topic.
Asked partitions_asked(const ServerContext& server,
                       const std::optional<std::vector<NamedPartitions>>& topics) {
  if (topics) return once_each(*topics);
  Asked asked;
  for (const TopicPtr& topic : server.topics.list()) {
    std::set<std::int32_t>& all = asked[topic->name];
    for (std::uint32_t i = 0; i < topic->partitions; ++i) {
      all.insert(all.end(), static_cast<std::int32_t>(i));
    }
  }
  return asked;
}

// The memory of the answer about all partitions.
std::size_t bytes_of_all(const ServerContext& server) {
  constexpr std::size_t kAskedBytes = 64;  // In the set of requested partitions.
  std::size_t bytes = 0;
  for (const TopicPtr& topic : server.topics.list()) {
    bytes += 2 * (sizeof(DescribeLogDirsResponse::Topic) + topic->name.size());
    bytes += topic->partitions * (2 * sizeof(DescribeLogDirsResponse::Partition) + kAskedBytes);
  }
  return bytes;
}

using Described = DescribeTopicPartitionsResponse::Topic;

Described unknown_topic(const std::string& name) {
  Described topic;
  topic.name = name;
  topic.error_code =
      check_topic_name(name) ? ErrorCode::kUnknownTopicOrPartition : ErrorCode::kInvalidTopic;
  return topic;
}

// The memory of describe() for `count` partitions.
std::size_t described_bytes(const TopicInfo& info, std::uint32_t count) {
  constexpr std::size_t kNodeListBytes = 32;  // The smallest allocation.
  constexpr std::size_t kPartitionBytes =
      sizeof(DescribeTopicPartitionsResponse::Partition) + 2 * kNodeListBytes;
  return 2 * sizeof(Described) + info.name.size() + count * kPartitionBytes;
}

// Partitions [from, from + count) of a topic. Requires: they exist.
Described describe(const ServerContext& server, const TopicInfo& info, std::uint32_t from,
                   std::uint32_t count) {
  Described topic;
  topic.name = info.name;
  topic.topic_id = to_uuid(info.id);
  topic.partitions.reserve(count);
  for (std::uint32_t i = from; i < from + count; ++i) {
    DescribeTopicPartitionsResponse::Partition& partition = topic.partitions.emplace_back();
    partition.partition_index = static_cast<std::int32_t>(i);
    partition.leader_id = server.options.node_id;
    partition.leader_epoch = kLeaderEpoch;
    partition.replica_nodes = {server.options.node_id};
    partition.isr_nodes = {server.options.node_id};
    partition.eligible_leader_replicas.emplace();
    partition.last_known_elr.emplace();
  }
  return topic;
}

// Without partitions and with an error when there is no memory for them.
Task<Described> describe_within(const ServerContext& server, TopicPtr info, std::uint32_t from,
                                std::uint32_t most, AnswerRoom& room) {
  const std::uint32_t count = std::min(info->partitions - std::min(from, info->partitions), most);
  if (co_await room.take(described_bytes(*info, count))) {
    co_return describe(server, *info, from, count);
  }
  Described topic;
  topic.name = info->name;
  topic.topic_id = to_uuid(info->id);
  topic.error_code = ErrorCode::kInvalidRequest;
  co_return topic;
}

// The names to describe, in order; of all topics no more than fit into one answer, and the next.
std::set<std::string> names_asked(const ServerContext& server,
                                  const DescribeTopicPartitionsRequest& request) {
  std::set<std::string> names;
  const std::string first = request.cursor ? request.cursor->topic_name : "";
  for (const auto& topic : request.topics) {
    if (topic.name >= first) names.insert(topic.name);
  }
  if (!request.topics.empty()) return names;
  for (const TopicPtr& topic : server.topics.list()) {
    if (topic->name >= first) names.insert(topic->name);
    if (names.size() > kDescribedPartitionsMax + 1) names.erase(std::prev(names.end()));
  }
  return names;
}

}  // namespace

Task<DescribeAclsResponse> serve(ServerContext& server, DescribeAclsRequest, RequestContext) {
  DescribeAclsResponse response;
  response.error_code = server.metrics.counted(ErrorCode::kSecurityDisabled);
  response.error_message = "no authorizer: every client may do everything";
  co_return response;
}

Task<DescribeLogDirsResponse> serve(ServerContext& server, DescribeLogDirsRequest request,
                                    RequestContext about) {
  DescribeLogDirsResponse response;
  if (!request.topics && !co_await about.room->take(bytes_of_all(server))) {
    response.error_code = server.metrics.counted(ErrorCode::kInvalidRequest);
    co_return response;
  }
  DescribeLogDirsResponse::Result& folder = response.results.emplace_back();
  folder.log_dir = kLogDir;
  for (const auto& [name, partitions] : partitions_asked(server, request.topics)) {
    DescribeLogDirsResponse::Topic topic;
    topic.name = name;
    for (const std::int32_t index : partitions) {
      const FoundPartition found = find_partition(server, name, index);
      if (!found.partition) continue;
      DescribeLogDirsResponse::Partition& partition = topic.partitions.emplace_back();
      partition.partition_index = index;
      partition.partition_size = static_cast<std::int64_t>(found.partition->info().bytes);
    }
    if (!topic.partitions.empty()) folder.topics.push_back(std::move(topic));
  }
  co_return response;
}

Task<ElectLeadersResponse> serve(ServerContext& server, ElectLeadersRequest request,
                                 RequestContext) {
  ElectLeadersResponse response;
  // Of all partitions Kafka names only those that had an election.
  if (!request.topics) co_return response;
  for (const auto& [name, partitions] : once_each(*request.topics)) {
    ElectLeadersResponse::Topic& topic = response.results.emplace_back();
    topic.topic = name;
    const TopicPtr info = server.topics.find(name);
    for (const std::int32_t index : partitions) {
      const bool known = info && index >= 0 && std::cmp_less(index, info->partitions);
      ElectLeadersResponse::Partition& partition = topic.partitions.emplace_back();
      partition.partition_id = index;
      partition.error_code =
          known ? ErrorCode::kElectionNotNeeded : ErrorCode::kUnknownTopicOrPartition;
      partition.error_message = known ? "there is one broker" : "there is no such partition";
    }
  }
  co_return response;
}

Task<ListPartitionReassignmentsResponse> serve(ServerContext&, ListPartitionReassignmentsRequest,
                                               RequestContext) {
  co_return ListPartitionReassignmentsResponse();
}

Task<DescribeClientQuotasResponse> serve(ServerContext&, DescribeClientQuotasRequest,
                                         RequestContext) {
  DescribeClientQuotasResponse response;
  response.entries.emplace();
  co_return response;
}

Task<DescribeUserScramCredentialsResponse> serve(ServerContext&,
                                                 DescribeUserScramCredentialsRequest request,
                                                 RequestContext) {
  DescribeUserScramCredentialsResponse response;
  if (!request.users) co_return response;
  std::map<std::string, int> times;
  for (const auto& user : *request.users) ++times[user.name];
  for (const auto& [name, count] : times) {
    DescribeUserScramCredentialsResponse::User& user = response.results.emplace_back();
    user.user = name;
    user.error_code = count > 1 ? ErrorCode::kDuplicateResource : ErrorCode::kResourceNotFound;
    user.error_message = count > 1 ? "the user is named twice" : "there are no users";
  }
  co_return response;
}

Task<ListTransactionsResponse> serve(ServerContext&, ListTransactionsRequest request,
                                     RequestContext) {
  constexpr std::array<std::string_view, 8> kStates{
      "CompleteAbort", "CompleteCommit",    "Dead",         "Empty",
      "Ongoing",       "PrepareEpochFence", "PrepareAbort", "PrepareCommit"};
  ListTransactionsResponse response;
  const std::set<std::string> asked(request.state_filters.begin(), request.state_filters.end());
  for (const std::string& state : asked) {
    if (std::ranges::count(kStates, state) == 0) response.unknown_state_filters.push_back(state);
  }
  co_return response;
}

Task<DescribeTopicPartitionsResponse> serve(ServerContext& server,
                                            DescribeTopicPartitionsRequest request,
                                            RequestContext about) {
  DescribeTopicPartitionsResponse response;
  const std::int32_t limit = request.response_partition_limit;
  auto left = static_cast<std::uint32_t>(limit > 0 ? std::min(limit, kDescribedPartitionsMax)
                                                   : kDescribedPartitionsMax);
  for (const std::string& name : names_asked(server, request)) {
    const TopicPtr info = server.topics.find(name);
    const bool resumed = request.cursor && request.cursor->topic_name == name;
    const std::int32_t from = resumed ? std::max(request.cursor->partition_index, 0) : 0;
    if (left == 0) {
      response.next_cursor = PartitionCursor{name, from};
      break;
    }
    if (!info) {
      response.topics.push_back(unknown_topic(name));
      server.metrics.counted(response.topics.back().error_code);
      --left;
      continue;
    }
    response.topics.push_back(co_await describe_within(
        server, info, static_cast<std::uint32_t>(from), left, *about.room));
    if (response.topics.back().error_code != ErrorCode::kNone) {
      server.metrics.counted(response.topics.back().error_code);
      --left;
      continue;
    }
    const auto given = static_cast<std::uint32_t>(response.topics.back().partitions.size());
    left -= given;
    const std::uint32_t next = static_cast<std::uint32_t>(from) + given;
    if (next < info->partitions) {
      response.next_cursor = PartitionCursor{name, static_cast<std::int32_t>(next)};
      break;
    }
  }
  co_return response;
}

}  // namespace moraine::kafka
