#include "app/kafka_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace moraine::app {
namespace {

using kafka::ErrorCode;

struct Meaning {
  ErrorCode code;
  std::string_view text;
};

constexpr std::array kMeanings{
    Meaning{ErrorCode::kUnknownServerError, "the server failed; its log says why"},
    Meaning{ErrorCode::kOffsetOutOfRange, "the partition has no such offset"},
    Meaning{ErrorCode::kCorruptMessage, "a checksum is wrong: damaged in transit, or on the disk"},
    Meaning{ErrorCode::kUnknownTopicOrPartition, "there is no such topic or partition"},
    Meaning{ErrorCode::kLeaderNotAvailable, "the partition is being started"},
    Meaning{ErrorCode::kNotLeaderOrFollower, "the partition is being started, or is elsewhere"},
    Meaning{ErrorCode::kRequestTimedOut, "not done in time; whether it will be is unknown"},
    Meaning{ErrorCode::kMessageTooLarge, "longer than the topic's max.message.bytes allows"},
    Meaning{ErrorCode::kCoordinatorLoadInProgress, "the coordinator of groups is being started"},
    Meaning{ErrorCode::kCoordinatorNotAvailable, "the coordinator of groups is not available"},
    Meaning{ErrorCode::kNotCoordinator, "another node coordinates this group"},
    Meaning{ErrorCode::kNotController,
            "the tree of paths is being started, or is elsewhere; nothing was changed"},
    Meaning{ErrorCode::kInvalidTopic, "a topic cannot have this name"},
    Meaning{ErrorCode::kInvalidGroupId, "a group cannot have this name"},
    Meaning{ErrorCode::kIllegalGeneration, "the group has members; only they may commit"},
    Meaning{ErrorCode::kUnknownMemberId, "the group has members; only they may commit"},
    Meaning{ErrorCode::kRebalanceInProgress, "the group has members that are just joining"},
    Meaning{ErrorCode::kUnsupportedVersion, "the server does not support this version"},
    Meaning{ErrorCode::kTopicAlreadyExists, "there is a topic of this name already"},
    Meaning{ErrorCode::kInvalidPartitions,
            "a topic cannot have so many partitions, or fewer than "
            "before"},
    Meaning{ErrorCode::kInvalidReplicationFactor, "there are not so many nodes"},
    Meaning{ErrorCode::kInvalidConfig, "no such config, or an invalid value"},
    Meaning{ErrorCode::kPolicyViolation, "a limit of the topic is reached"},
    Meaning{ErrorCode::kOutOfOrderSequenceNumber, "a batch before this one is missing"},
    Meaning{ErrorCode::kStorageError, "the storage failed or is full"},
    Meaning{ErrorCode::kNonEmptyGroup, "the group has members; stop its consumers first"},
    Meaning{ErrorCode::kGroupIdNotFound, "there is no such group"},
    Meaning{ErrorCode::kUnsupportedCompressionType, "the server does not support this codec"},
    Meaning{ErrorCode::kInvalidRecord, "the server does not accept this message"},
    Meaning{ErrorCode::kThrottlingQuotaExceeded, "a quota is used up; try later"},
};

Errc errc_of(ErrorCode code) {
  if (is_passing(code)) return Errc::kOverloaded;
  switch (code) {
    case ErrorCode::kUnknownTopicOrPartition:
    case ErrorCode::kUnknownTopicId:
    case ErrorCode::kGroupIdNotFound:
    case ErrorCode::kOffsetOutOfRange: return Errc::kNotFound;
    case ErrorCode::kTopicAlreadyExists: return Errc::kAlreadyExists;
    case ErrorCode::kCorruptMessage: return Errc::kCorrupt;
    case ErrorCode::kMessageTooLarge:
    case ErrorCode::kInvalidTopic:
    case ErrorCode::kInvalidGroupId:
    case ErrorCode::kInvalidPartitions:
    case ErrorCode::kInvalidReplicationFactor:
    case ErrorCode::kInvalidConfig:
    case ErrorCode::kInvalidRequest:
    case ErrorCode::kInvalidRecord: return Errc::kInvalidArgument;
    case ErrorCode::kUnsupportedVersion:
    case ErrorCode::kUnsupportedCompressionType:
    case ErrorCode::kUnsupportedForMessageFormat: return Errc::kUnsupported;
    case ErrorCode::kStorageError: return Errc::kNoSpace;
    case ErrorCode::kRequestTimedOut: return Errc::kTimeout;
    default: return Errc::kConflict;
  }
}

}  // namespace

std::string_view meaning_of(ErrorCode code) {
  const auto* const found = std::ranges::find(kMeanings, code, &Meaning::code);
  return found == kMeanings.end() ? "" : found->text;
}

bool is_passing(ErrorCode code) {
  switch (code) {
    case ErrorCode::kLeaderNotAvailable:
    case ErrorCode::kNotLeaderOrFollower:
    case ErrorCode::kCoordinatorLoadInProgress:
    case ErrorCode::kCoordinatorNotAvailable:
    case ErrorCode::kNotCoordinator:
    case ErrorCode::kNotController:
    case ErrorCode::kThrottlingQuotaExceeded: return true;
    default: return false;
  }
}

Error kafka_error(ErrorCode code, std::string_view what, const std::optional<std::string>& words) {
  std::string name(to_string(code));
  if (name == "UNKNOWN") name = fmt::format("error {}", static_cast<int>(code));
  const bool has_words = words && !words->empty();
  const std::string_view why = has_words ? std::string_view(*words) : meaning_of(code);
  return {errc_of(code), fmt::format("{}: {}{}{}", what, name, why.empty() ? "" : ": ", why)};
}

Result<void> check_answer(ErrorCode code, std::string_view what,
                          const std::optional<std::string>& words) {
  if (code == ErrorCode::kNone) return {};
  return std::unexpected(kafka_error(code, what, words));
}

}  // namespace moraine::app
