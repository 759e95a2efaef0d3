#include "gateway/kafka/server/context.h"

#include <fmt/format.h>

#include <cstring>

namespace moraine::kafka {
namespace {

// A partition that is being started will be available soon: clients retry. One that cannot start is
// an error that they report.
ErrorCode error_of_absent(const std::optional<Error>& why) {
  if (!why) return ErrorCode::kNotLeaderOrFollower;
  switch (why->code) {
    case Errc::kNoSpace: return ErrorCode::kStorageError;
    case Errc::kNotFound:
    case Errc::kCorrupt:
    case Errc::kUnsupported:
    case Errc::kInvalidArgument: return ErrorCode::kUnknownServerError;
    default: return ErrorCode::kNotLeaderOrFollower;
  }
}

}  // namespace

void LimitedLog::write(Instant now, LogFields fields) {
  if (since_ + kPeriod <= now) {
    if (lines_ > kLinesMax) log_warning(rest_, {{"count", lines_ - kLinesMax}});
    since_ = now;
    lines_ = 0;
  }
  if (++lines_ > kLinesMax) return;
  log_warning(event_, fields);
}

FoundPartition find_partition(ServerContext& server, TopicPtr topic, std::int32_t index) {
  if (!topic || index < 0 || static_cast<std::uint32_t>(index) >= topic->partitions) {
    return {std::move(topic), nullptr, ErrorCode::kUnknownTopicOrPartition, ""};
  }
  const auto number = static_cast<queue::PartitionIndex>(index);
  auto partition = server.topics.partition(topic->id, number);
  if (!partition || partition->stopped()) {
    const std::optional<Error> why = server.topics.start_error(topic->id, number);
    const ErrorCode code = error_of_absent(why);
    std::string reason = why ? fmt::format("the partition does not start: {}", why->message()) : "";
    return {std::move(topic), nullptr, code, std::move(reason)};
  }
  return {std::move(topic), std::move(partition), ErrorCode::kNone, ""};
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

ErrorCode check_leader_epoch(std::int32_t known) {
  constexpr std::int32_t kNoEpoch = -1;
  if (known == kNoEpoch || known == kLeaderEpoch) return ErrorCode::kNone;
  return known < kLeaderEpoch ? ErrorCode::kFencedLeaderEpoch : ErrorCode::kUnknownLeaderEpoch;
}

ErrorCode partition_error(const Error& error) {
  switch (error.code) {
    case Errc::kInvalidArgument: return ErrorCode::kOffsetOutOfRange;
    // Clients report it; other codes they retry without a word.
    case Errc::kCorrupt: return ErrorCode::kCorruptMessage;
    case Errc::kNotFound:
    case Errc::kConflict:
    case Errc::kNotHere:
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
    // Nothing was changed: clients look for the controller and retry.
    case Errc::kNotHere: return ErrorCode::kNotController;
    case Errc::kTimeout:
    case Errc::kConflict:
    case Errc::kUnknownOutcome:
    case Errc::kUnavailable: return ErrorCode::kRequestTimedOut;
    default: return ErrorCode::kUnknownServerError;
  }
}

}  // namespace moraine::kafka
