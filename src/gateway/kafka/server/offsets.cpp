#include <map>
#include <utility>

#include "gateway/kafka/server/handlers.h"

namespace moraine::kafka {
namespace {

ErrorCode commit_error(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument: return ErrorCode::kInvalidGroupId;
    case Errc::kOverloaded:
    case Errc::kTimeout: return ErrorCode::kRequestTimedOut;
    // Clients try this again.
    default: return ErrorCode::kCoordinatorNotAvailable;
  }
}

// A partition that is being started: the coordinator has it soon.
ErrorCode coordinator_error(const FoundPartition& found) {
  return found.error == ErrorCode::kNotLeaderOrFollower ? ErrorCode::kCoordinatorLoadInProgress
                                                        : found.error;
}

Task<void> commit_one(ServerContext& server, FoundPartition found, queue::ConsumerOffset offset,
                      OffsetCommitResponse::Partition& answer) {
  const Result<void> committed = co_await found.partition->commit(std::move(offset));
  if (!committed) answer.error_code = server.metrics.counted(commit_error(committed.error()));
}

// Starts the commit of one partition, or says in `answer` why not.
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
    // Not "none": the consumer would start anew.
    OffsetFetchResponse::Partition answer = describe(index, nullptr);
    answer.error_code = ErrorCode::kCoordinatorLoadInProgress;
    return answer;
  }
  if (!found.partition) return describe(index, nullptr);
  const auto offset = found.partition->committed(group);
  return describe(index, offset ? &*offset : nullptr);
}

// Everything that a group has committed.
std::vector<OffsetFetchResponse::Topic> all_committed(ServerContext& server,
                                                      const std::string& group) {
  std::vector<OffsetFetchResponse::Topic> topics;
  for (const TopicPtr& info : server.topics.list()) {
    OffsetFetchResponse::Topic topic;
    topic.name = info->name;
    for (std::uint32_t i = 0; i < info->partitions; ++i) {
      auto answer = find_committed(server, group, info, static_cast<std::int32_t>(i));
      const bool tells = answer.committed_offset >= 0 || answer.error_code != ErrorCode::kNone;
      if (tells) topic.partitions.push_back(std::move(answer));
    }
    if (!topic.partitions.empty()) topics.push_back(std::move(topic));
  }
  return topics;
}

OffsetFetchResponse::Group fetch_group(ServerContext& server,
                                       const OffsetFetchRequest::Group& asked) {
  OffsetFetchResponse::Group group;
  group.group_id = asked.group_id;
  if (!asked.topics) {
    group.topics = all_committed(server, asked.group_id);
  } else {
    for (const OffsetFetchRequest::Topic& topic : *asked.topics) {
      const TopicPtr info = server.topics.find(topic.name);
      OffsetFetchResponse::Topic& answered = group.topics.emplace_back();
      answered.name = topic.name;
      for (const std::int32_t index : topic.partition_indexes) {
        answered.partitions.push_back(find_committed(server, asked.group_id, info, index));
      }
    }
  }
  for (const OffsetFetchResponse::Topic& topic : group.topics) {
    for (const OffsetFetchResponse::Partition& partition : topic.partitions) {
      if (partition.error_code != ErrorCode::kNone) group.error_code = partition.error_code;
    }
  }
  server.metrics.counted(group.error_code);
  return group;
}

// Whether the group has committed, or may have, some of what is asked for.
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
  for (const OffsetCommitRequest::Topic& asked : request.topics) {
    OffsetCommitResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    for (const OffsetCommitRequest::Partition& partition : asked.partitions) {
      topic.partitions.push_back({partition.partition_index, server.metrics.counted(admitted)});
    }
  }
  if (admitted != ErrorCode::kNone) co_return response;
  TaskScope commits;
  for (std::size_t t = 0; t < request.topics.size(); ++t) {
    const OffsetCommitRequest::Topic& asked = request.topics[t];
    const TopicPtr info = server.topics.find(asked.name);
    for (std::size_t p = 0; p < asked.partitions.size(); ++p) {
      start_commit(server, commits, request.group_id, info, asked.partitions[p],
                   response.topics[t].partitions[p]);
    }
  }
  co_await commits.join();
  co_return response;
}

Task<OffsetFetchResponse> serve(ServerContext& server, OffsetFetchRequest request, RequestContext) {
  OffsetFetchResponse response;
  for (const OffsetFetchRequest::Group& group : request.groups) {
    response.groups.push_back(fetch_group(server, group));
  }
  co_return response;
}

Task<OffsetDeleteResponse> serve(ServerContext& server, OffsetDeleteRequest request,
                                 RequestContext) {
  OffsetDeleteResponse response;
  if (!server.groups.exists(request.group_id) && !may_have_offsets(server, request)) {
    response.error_code = server.metrics.counted(ErrorCode::kGroupIdNotFound);
    co_return response;
  }
  for (const OffsetDeleteRequest::Topic& asked : request.topics) {
    OffsetDeleteResponse::Topic& topic = response.topics.emplace_back();
    topic.name = asked.name;
    const bool in_use = server.groups.subscribed(request.group_id, asked.name);
    for (const std::int32_t index : asked.partitions) {
      OffsetDeleteResponse::Partition& answer = topic.partitions.emplace_back();
      answer.partition_index = index;
      const FoundPartition found = find_partition(server, asked.name, index);
      answer.error_code = in_use ? ErrorCode::kGroupSubscribedToTopic : coordinator_error(found);
      if (server.metrics.counted(answer.error_code) != ErrorCode::kNone) continue;
      const Result<void> gone = co_await found.partition->forget_consumer(request.group_id);
      if (!gone) answer.error_code = server.metrics.counted(commit_error(gone.error()));
    }
  }
  co_return response;
}

}  // namespace moraine::kafka
