#include <set>
#include <utility>

#include "gateway/kafka/server/committers.h"
#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/repeats.h"

namespace moraine::kafka {
namespace {

ErrorCode commit_error(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument: return ErrorCode::kInvalidGroupId;
    case Errc::kOverloaded:
    case Errc::kTimeout: return ErrorCode::kRequestTimedOut;
    // Clients retry this.
    default: return ErrorCode::kCoordinatorNotAvailable;
  }
}

// A partition that is being started: it will be available soon.
ErrorCode coordinator_error(const FoundPartition& found) {
  return found.error == ErrorCode::kNotLeaderOrFollower ? ErrorCode::kCoordinatorLoadInProgress
                                                        : found.error;
}

Task<void> commit_one(ServerContext& server, FoundPartition found, queue::ConsumerOffset offset,
                      OffsetCommitResponse::Partition& answer) {
  const Result<void> committed = co_await found.partition->commit(std::move(offset));
  if (!committed) answer.error_code = server.metrics.counted(commit_error(committed.error()));
}

// Starts the commit of one partition, or sets the error in `answer`.
void start_commit(ServerContext& server, TaskScope& commits, const std::string& group,
                  const TopicPtr& topic, const OffsetCommitRequest::Partition& asked,
                  OffsetCommitResponse::Partition& answer) {
  FoundPartition found = find_partition(server, topic, asked.partition_index);
  answer.error_code = coordinator_error(found);
  if (found.partition && asked.committed_offset < 0) {
    answer.error_code = ErrorCode::kInvalidRequest;
  }
  if (asked.committed_metadata.value_or("").size() > queue::kConsumerMetadataBytesMax) {
    answer.error_code = ErrorCode::kOffsetMetadataTooLarge;
  }
  if (server.metrics.counted(answer.error_code) != ErrorCode::kNone) return;
  queue::ConsumerOffset offset;
  offset.consumer = group;
  offset.offset = static_cast<queue::Offset>(asked.committed_offset);
  offset.metadata = asked.committed_metadata.value_or("");
  offset.leader_epoch = asked.committed_leader_epoch;
  offset.committed_ms = static_cast<std::uint64_t>(server.clock.since_epoch().count());
  commits.spawn(commit_one(server, std::move(found), std::move(offset), answer));
}

OffsetFetchResponse::Partition describe(std::int32_t index, const queue::ConsumerOffset* offset) {
  OffsetFetchResponse::Partition answer;
  answer.partition_index = index;
  if (offset == nullptr) return answer;
  answer.committed_offset = static_cast<std::int64_t>(offset->offset);
  answer.committed_leader_epoch = offset->leader_epoch;
  answer.metadata = offset->metadata;
  return answer;
}

OffsetFetchResponse::Partition find_committed(ServerContext& server, const std::string& group,
                                              const TopicPtr& topic, std::int32_t index) {
  const FoundPartition found = find_partition(server, topic, index);
  if (found.error == ErrorCode::kNotLeaderOrFollower) {
    // Not "none": the consumer would start from the beginning.
    OffsetFetchResponse::Partition answer = describe(index, nullptr);
    answer.error_code = ErrorCode::kCoordinatorLoadInProgress;
    return answer;
  }
  if (!found.partition) return describe(index, nullptr);
  const auto offset = found.partition->committed(group);
  return describe(index, offset ? &*offset : nullptr);
}

// All committed offsets of a group; kInvalidRequest: there is no memory for them.
Task<ErrorCode> all_committed(ServerContext& server, const std::string& group, AnswerRoom& room,
                              std::vector<OffsetFetchResponse::Topic>& topics) {
  for (const TopicPtr& info : server.topics.list()) {
    OffsetFetchResponse::Topic topic;
    topic.name = info->name;
    for (std::uint32_t i = 0; i < info->partitions; ++i) {
      auto answer = find_committed(server, group, info, static_cast<std::int32_t>(i));
      const bool known = answer.committed_offset >= 0 || answer.error_code != ErrorCode::kNone;
      if (!known) continue;
      const std::size_t bytes = sizeof(answer) * 2 + answer.metadata.value_or("").size();
      if (!co_await room.take(bytes)) co_return ErrorCode::kInvalidRequest;
      topic.partitions.push_back(std::move(answer));
    }
    if (!topic.partitions.empty()) topics.push_back(std::move(topic));
    co_await yield(server.executor);
  }
  co_return ErrorCode::kNone;
}

// The committed offsets of a group in these partitions, each once.
Task<void> some_committed(ServerContext& server, const std::string& group,
                          const std::vector<OffsetFetchRequest::Topic>& asked, AnswerRoom& room,
                          std::vector<OffsetFetchResponse::Topic>& topics) {
  Repeats named;
  for (const OffsetFetchRequest::Topic& topic : asked) {
    const TopicPtr info = server.topics.find(topic.name);
    OffsetFetchResponse::Topic answered;
    answered.name = topic.name;
    for (const std::int32_t index : topic.partition_indexes) {
      if (!named.first(topic.name, index)) continue;
      auto answer = find_committed(server, group, info, index);
      if (!co_await room.take(answer.metadata.value_or("").size())) {
        answer = describe(index, nullptr);
        answer.error_code = ErrorCode::kInvalidRequest;
      }
      answered.partitions.push_back(std::move(answer));
    }
    const bool repeats = answered.partitions.empty() && !topic.partition_indexes.empty();
    if (!repeats) topics.push_back(std::move(answered));
  }
}

Task<OffsetFetchResponse::Group> fetch_group(ServerContext& server,
                                             const OffsetFetchRequest::Group& asked,
                                             AnswerRoom& room) {
  OffsetFetchResponse::Group group;
  group.group_id = asked.group_id;
  if (!asked.topics) {
    group.error_code = co_await all_committed(server, asked.group_id, room, group.topics);
    if (group.error_code != ErrorCode::kNone) group.topics.clear();
  } else {
    co_await some_committed(server, asked.group_id, *asked.topics, room, group.topics);
  }
  for (const OffsetFetchResponse::Topic& topic : group.topics) {
    for (const OffsetFetchResponse::Partition& partition : topic.partitions) {
      if (partition.error_code != ErrorCode::kNone) group.error_code = partition.error_code;
    }
  }
  server.metrics.counted(group.error_code);
  co_return group;
}

// Whether the group has committed, or may have, offsets in the requested partitions.
bool may_have_offsets(ServerContext& server, const OffsetDeleteRequest& request) {
  for (const OffsetDeleteRequest::Topic& asked : request.topics) {
    for (const std::int32_t index : asked.partitions) {
      const FoundPartition found = find_partition(server, asked.name, index);
      if (found.error == ErrorCode::kNotLeaderOrFollower) return true;
      if (found.partition && found.partition->committed(request.group_id)) return true;
    }
  }
  return false;
}

}  // namespace

Task<OffsetCommitResponse> serve(ServerContext& server, OffsetCommitRequest request,
                                 RequestContext) {
  const ErrorCode admitted = co_await server.groups.admit_commit(request);
  OffsetCommitResponse response;
  Repeats named;
  for (const OffsetCommitRequest::Topic& asked : request.topics) {
    OffsetCommitResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    for (const OffsetCommitRequest::Partition& partition : asked.partitions) {
      const bool first = named.first(asked.name, partition.partition_index);
      const ErrorCode error = first ? admitted : ErrorCode::kInvalidRequest;
      topic.partitions.push_back({partition.partition_index, server.metrics.counted(error)});
    }
  }
  if (admitted != ErrorCode::kNone) co_return response;
  TaskScope commits;
  for (std::size_t t = 0; t < request.topics.size(); ++t) {
    const OffsetCommitRequest::Topic& asked = request.topics[t];
    const TopicPtr info = server.topics.find(asked.name);
    for (std::size_t p = 0; p < asked.partitions.size(); ++p) {
      OffsetCommitResponse::Partition& answer = response.topics[t].partitions[p];
      if (answer.error_code != ErrorCode::kNone) continue;
      start_commit(server, commits, request.group_id, info, asked.partitions[p], answer);
    }
  }
  co_await commits.join();
  co_return response;
}

// A group that is named again is answered once, by its first mention.
Task<OffsetFetchResponse> serve(ServerContext& server, OffsetFetchRequest request,
                                RequestContext about) {
  std::set<std::string_view> asked_for_all;
  for (const OffsetFetchRequest::Group& group : request.groups) {
    if (!group.topics) asked_for_all.insert(group.group_id);
  }
  const bool many = asked_for_all.size() > 1;
  Committers committers;
  if (many) committers = co_await find_committers(server, asked_for_all);
  OffsetFetchResponse response;
  Repeats named;
  for (const OffsetFetchRequest::Group& group : request.groups) {
    if (about.client->disconnected()) break;
    if (!named.first(group.group_id)) continue;
    if (many && !group.topics && !committers.groups.contains(group.group_id)) {
      OffsetFetchResponse::Group& none = response.groups.emplace_back();
      none.group_id = group.group_id;
      if (!committers.complete) none.error_code = ErrorCode::kCoordinatorLoadInProgress;
      server.metrics.counted(none.error_code);
      continue;
    }
    response.groups.push_back(co_await fetch_group(server, group, *about.room));
  }
  co_return response;
}

Task<OffsetDeleteResponse> serve(ServerContext& server, OffsetDeleteRequest request,
                                 RequestContext about) {
  OffsetDeleteResponse response;
  if (!co_await server.groups.exists(request.group_id) && !may_have_offsets(server, request)) {
    response.error_code = server.metrics.counted(ErrorCode::kGroupIdNotFound);
    co_return response;
  }
  Repeats named;
  for (const OffsetDeleteRequest::Topic& asked : request.topics) {
    if (about.client->disconnected()) break;
    co_await yield(server.executor);  // Checking all subscriptions takes time.
    OffsetDeleteResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    const bool in_use = co_await server.groups.subscribed(request.group_id, asked.name);
    for (const std::int32_t index : asked.partitions) {
      OffsetDeleteResponse::Partition& answer = topic.partitions.emplace_back();
      answer.partition_index = index;
      const FoundPartition found = find_partition(server, asked.name, index);
      answer.error_code = in_use ? ErrorCode::kGroupSubscribedToTopic : coordinator_error(found);
      if (!named.first(asked.name, index)) answer.error_code = ErrorCode::kInvalidRequest;
      if (server.metrics.counted(answer.error_code) != ErrorCode::kNone) continue;
      const Result<void> removed = co_await found.partition->forget_consumer(request.group_id);
      if (!removed) answer.error_code = server.metrics.counted(commit_error(removed.error()));
    }
  }
  co_return response;
}

}  // namespace moraine::kafka
