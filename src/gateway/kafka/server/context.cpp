#include "gateway/kafka/server/context.h"

#include <cstring>

namespace moraine::kafka {

FoundPartition find_partition(ServerContext& server, TopicPtr topic, std::int32_t index) {
  if (!topic || index < 0 || static_cast<std::uint32_t>(index) >= topic->partitions) {
    return {std::move(topic), nullptr, ErrorCode::kUnknownTopicOrPartition};
  }
  auto partition = server.topics.partition(topic->id, static_cast<queue::PartitionIndex>(index));
  if (!partition || partition->stopped()) {
    return {std::move(topic), nullptr, ErrorCode::kNotLeaderOrFollower};
  }
  return {std::move(topic), std::move(partition), ErrorCode::kNone};
}

FoundPartition find_partition(ServerContext& server, const std::string& topic, std::int32_t index) {
  return find_partition(server, server.topics.find(topic), index);
}

TopicId to_topic_id(const Uuid& id) {
  TopicId topic;
  std::memcpy(topic.data(), id.bytes.data(), topic.size());
  return topic;
}

Uuid to_uuid(const TopicId& id) {
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), id.data(), id.size());
  return uuid;
}

ErrorCode partition_error(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument: return ErrorCode::kOffsetOutOfRange;
    case Errc::kNotFound:
    case Errc::kConflict:
    case Errc::kUnavailable: return ErrorCode::kNotLeaderOrFollower;
    case Errc::kTimeout:
    case Errc::kUnknownOutcome:
    case Errc::kOverloaded: return ErrorCode::kRequestTimedOut;
    default: return ErrorCode::kStorageError;
  }
}

ErrorCode topic_error(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument: return ErrorCode::kInvalidRequest;
    case Errc::kNotFound: return ErrorCode::kUnknownTopicOrPartition;
    case Errc::kAlreadyExists: return ErrorCode::kTopicAlreadyExists;
    case Errc::kOverloaded: return ErrorCode::kPolicyViolation;
    case Errc::kTimeout:
    case Errc::kConflict:
    case Errc::kUnknownOutcome:
    case Errc::kUnavailable: return ErrorCode::kRequestTimedOut;
    default: return ErrorCode::kUnknownServerError;
  }
}

}  // namespace moraine::kafka
