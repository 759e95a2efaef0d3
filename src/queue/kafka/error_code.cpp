#include "queue/kafka/error_code.h"

#include <algorithm>
#include <array>

namespace moraine::kafka {
namespace {

struct NamedCode {
  ErrorCode code;
  std::string_view name;
};

constexpr std::array kNames{
    NamedCode{ErrorCode::kUnknownServerError, "UNKNOWN_SERVER_ERROR"},
    NamedCode{ErrorCode::kNone, "NONE"},
    NamedCode{ErrorCode::kOffsetOutOfRange, "OFFSET_OUT_OF_RANGE"},
    NamedCode{ErrorCode::kCorruptMessage, "CORRUPT_MESSAGE"},
    NamedCode{ErrorCode::kUnknownTopicOrPartition, "UNKNOWN_TOPIC_OR_PARTITION"},
    NamedCode{ErrorCode::kLeaderNotAvailable, "LEADER_NOT_AVAILABLE"},
    NamedCode{ErrorCode::kNotLeaderOrFollower, "NOT_LEADER_OR_FOLLOWER"},
    NamedCode{ErrorCode::kRequestTimedOut, "REQUEST_TIMED_OUT"},
    NamedCode{ErrorCode::kMessageTooLarge, "MESSAGE_TOO_LARGE"},
    NamedCode{ErrorCode::kOffsetMetadataTooLarge, "OFFSET_METADATA_TOO_LARGE"},
    NamedCode{ErrorCode::kCoordinatorLoadInProgress, "COORDINATOR_LOAD_IN_PROGRESS"},
    NamedCode{ErrorCode::kCoordinatorNotAvailable, "COORDINATOR_NOT_AVAILABLE"},
    NamedCode{ErrorCode::kNotCoordinator, "NOT_COORDINATOR"},
    NamedCode{ErrorCode::kInvalidTopic, "INVALID_TOPIC_EXCEPTION"},
    NamedCode{ErrorCode::kRecordListTooLarge, "RECORD_LIST_TOO_LARGE"},
    NamedCode{ErrorCode::kNotEnoughReplicas, "NOT_ENOUGH_REPLICAS"},
    NamedCode{ErrorCode::kNotEnoughReplicasAfterAppend, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"},
    NamedCode{ErrorCode::kInvalidRequiredAcks, "INVALID_REQUIRED_ACKS"},
    NamedCode{ErrorCode::kIllegalGeneration, "ILLEGAL_GENERATION"},
    NamedCode{ErrorCode::kInconsistentGroupProtocol, "INCONSISTENT_GROUP_PROTOCOL"},
    NamedCode{ErrorCode::kInvalidGroupId, "INVALID_GROUP_ID"},
    NamedCode{ErrorCode::kUnknownMemberId, "UNKNOWN_MEMBER_ID"},
    NamedCode{ErrorCode::kInvalidSessionTimeout, "INVALID_SESSION_TIMEOUT"},
    NamedCode{ErrorCode::kRebalanceInProgress, "REBALANCE_IN_PROGRESS"},
    NamedCode{ErrorCode::kTopicAuthorizationFailed, "TOPIC_AUTHORIZATION_FAILED"},
    NamedCode{ErrorCode::kGroupAuthorizationFailed, "GROUP_AUTHORIZATION_FAILED"},
    NamedCode{ErrorCode::kClusterAuthorizationFailed, "CLUSTER_AUTHORIZATION_FAILED"},
    NamedCode{ErrorCode::kInvalidTimestamp, "INVALID_TIMESTAMP"},
    NamedCode{ErrorCode::kUnsupportedSaslMechanism, "UNSUPPORTED_SASL_MECHANISM"},
    NamedCode{ErrorCode::kIllegalSaslState, "ILLEGAL_SASL_STATE"},
    NamedCode{ErrorCode::kUnsupportedVersion, "UNSUPPORTED_VERSION"},
    NamedCode{ErrorCode::kTopicAlreadyExists, "TOPIC_ALREADY_EXISTS"},
    NamedCode{ErrorCode::kInvalidPartitions, "INVALID_PARTITIONS"},
    NamedCode{ErrorCode::kInvalidReplicationFactor, "INVALID_REPLICATION_FACTOR"},
    NamedCode{ErrorCode::kInvalidReplicaAssignment, "INVALID_REPLICA_ASSIGNMENT"},
    NamedCode{ErrorCode::kInvalidConfig, "INVALID_CONFIG"},
    NamedCode{ErrorCode::kNotController, "NOT_CONTROLLER"},
    NamedCode{ErrorCode::kInvalidRequest, "INVALID_REQUEST"},
    NamedCode{ErrorCode::kUnsupportedForMessageFormat, "UNSUPPORTED_FOR_MESSAGE_FORMAT"},
    NamedCode{ErrorCode::kPolicyViolation, "POLICY_VIOLATION"},
    NamedCode{ErrorCode::kOutOfOrderSequenceNumber, "OUT_OF_ORDER_SEQUENCE_NUMBER"},
    NamedCode{ErrorCode::kDuplicateSequenceNumber, "DUPLICATE_SEQUENCE_NUMBER"},
    NamedCode{ErrorCode::kInvalidProducerEpoch, "INVALID_PRODUCER_EPOCH"},
    NamedCode{ErrorCode::kInvalidTxnState, "INVALID_TXN_STATE"},
    NamedCode{ErrorCode::kInvalidProducerIdMapping, "INVALID_PRODUCER_ID_MAPPING"},
    NamedCode{ErrorCode::kInvalidTransactionTimeout, "INVALID_TRANSACTION_TIMEOUT"},
    NamedCode{ErrorCode::kConcurrentTransactions, "CONCURRENT_TRANSACTIONS"},
    NamedCode{ErrorCode::kTransactionalIdAuthorizationFailed,
              "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
    NamedCode{ErrorCode::kSecurityDisabled, "SECURITY_DISABLED"},
    NamedCode{ErrorCode::kOperationNotAttempted, "OPERATION_NOT_ATTEMPTED"},
    NamedCode{ErrorCode::kStorageError, "KAFKA_STORAGE_ERROR"},
    NamedCode{ErrorCode::kSaslAuthenticationFailed, "SASL_AUTHENTICATION_FAILED"},
    NamedCode{ErrorCode::kUnknownProducerId, "UNKNOWN_PRODUCER_ID"},
    NamedCode{ErrorCode::kNonEmptyGroup, "NON_EMPTY_GROUP"},
    NamedCode{ErrorCode::kGroupIdNotFound, "GROUP_ID_NOT_FOUND"},
    NamedCode{ErrorCode::kFetchSessionIdNotFound, "FETCH_SESSION_ID_NOT_FOUND"},
    NamedCode{ErrorCode::kInvalidFetchSessionEpoch, "INVALID_FETCH_SESSION_EPOCH"},
    NamedCode{ErrorCode::kTopicDeletionDisabled, "TOPIC_DELETION_DISABLED"},
    NamedCode{ErrorCode::kFencedLeaderEpoch, "FENCED_LEADER_EPOCH"},
    NamedCode{ErrorCode::kUnknownLeaderEpoch, "UNKNOWN_LEADER_EPOCH"},
    NamedCode{ErrorCode::kUnsupportedCompressionType, "UNSUPPORTED_COMPRESSION_TYPE"},
    NamedCode{ErrorCode::kOffsetNotAvailable, "OFFSET_NOT_AVAILABLE"},
    NamedCode{ErrorCode::kMemberIdRequired, "MEMBER_ID_REQUIRED"},
    NamedCode{ErrorCode::kGroupMaxSizeReached, "GROUP_MAX_SIZE_REACHED"},
    NamedCode{ErrorCode::kFencedInstanceId, "FENCED_INSTANCE_ID"},
    NamedCode{ErrorCode::kElectionNotNeeded, "ELECTION_NOT_NEEDED"},
    NamedCode{ErrorCode::kGroupSubscribedToTopic, "GROUP_SUBSCRIBED_TO_TOPIC"},
    NamedCode{ErrorCode::kInvalidRecord, "INVALID_RECORD"},
    NamedCode{ErrorCode::kUnstableOffsetCommit, "UNSTABLE_OFFSET_COMMIT"},
    NamedCode{ErrorCode::kThrottlingQuotaExceeded, "THROTTLING_QUOTA_EXCEEDED"},
    NamedCode{ErrorCode::kProducerFenced, "PRODUCER_FENCED"},
    NamedCode{ErrorCode::kResourceNotFound, "RESOURCE_NOT_FOUND"},
    NamedCode{ErrorCode::kDuplicateResource, "DUPLICATE_RESOURCE"},
    NamedCode{ErrorCode::kUnknownTopicId, "UNKNOWN_TOPIC_ID"},
    NamedCode{ErrorCode::kInconsistentTopicId, "INCONSISTENT_TOPIC_ID"},
    NamedCode{ErrorCode::kTransactionalIdNotFound, "TRANSACTIONAL_ID_NOT_FOUND"},
    NamedCode{ErrorCode::kMismatchedEndpointType, "MISMATCHED_ENDPOINT_TYPE"},
    NamedCode{ErrorCode::kUnsupportedEndpointType, "UNSUPPORTED_ENDPOINT_TYPE"},
};
static_assert(std::ranges::is_sorted(kNames, {}, &NamedCode::code));

}  // namespace

std::string_view to_string(ErrorCode code) {
  const auto* const found = std::ranges::lower_bound(kNames, code, {}, &NamedCode::code);
  return found != kNames.end() && found->code == code ? found->name : "UNKNOWN";
}

}  // namespace moraine::kafka
