// Writing and reading records: Produce, Fetch, and requests for offsets.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

enum class IsolationLevel : std::int8_t { kReadUncommitted = 0, kReadCommitted = 1 };

// replica_id of a consumer.
inline constexpr std::int32_t kNoReplica = -1;

struct ProduceResponse {
  static constexpr ApiKey kApi = ApiKey::kProduce;
  struct RecordError {
    std::int32_t batch_index = 0;
    std::optional<std::string> message;
  };
  struct Partition {
    std::int32_t index = 0;
    ErrorCode error_code = ErrorCode::kNone;
    std::int64_t base_offset = -1;
    std::int64_t log_append_time_ms = -1;
    std::int64_t log_start_offset = -1;
    std::vector<RecordError> record_errors;
    std::optional<std::string> error_message;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::vector<Topic> topics;
  std::int32_t throttle_time_ms = 0;
};

// Versions below 3 carry message sets of the old formats.
struct ProduceRequest {
  static constexpr ApiKey kApi = ApiKey::kProduce;
  using Response = ProduceResponse;
  struct Partition {
    std::int32_t index = 0;
    Records records;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::optional<std::string> transactional_id;
  std::int16_t acks = -1;  // 0: no response is sent. 1 and -1: after the data is durable.
  std::int32_t timeout_ms = 0;
  std::vector<Topic> topics;
};

struct FetchResponse {
  static constexpr ApiKey kApi = ApiKey::kFetch;
  struct AbortedTransaction {
    std::int64_t producer_id = 0;
    std::int64_t first_offset = 0;
  };
  struct DivergingEpoch {
    std::int32_t epoch = -1;
    std::int64_t end_offset = -1;
  };
  struct CurrentLeader {
    std::int32_t leader_id = -1;
    std::int32_t leader_epoch = -1;
  };
  struct SnapshotId {
    std::int64_t end_offset = -1;
    std::int32_t epoch = -1;
  };
  struct Partition {
    std::int32_t partition_index = 0;
    ErrorCode error_code = ErrorCode::kNone;
    std::int64_t high_watermark = -1;
    std::int64_t last_stable_offset = -1;
    std::int64_t log_start_offset = -1;
    std::optional<DivergingEpoch> diverging_epoch;
    std::optional<CurrentLeader> current_leader;
    std::optional<SnapshotId> snapshot_id;
    // Empty rather than null: some clients do not handle null.
    std::optional<std::vector<AbortedTransaction>> aborted_transactions{std::in_place};
    std::int32_t preferred_read_replica = -1;
    Records records;
  };
  struct Topic {
    std::string name;  // Up to version 12,
    Uuid topic_id;     // from version 13.
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::int32_t session_id = 0;
  std::vector<Topic> topics;
};

// Versions below 4 can carry only message sets of the old formats.
struct FetchRequest {
  static constexpr ApiKey kApi = ApiKey::kFetch;
  using Response = FetchResponse;
  struct Partition {
    std::int32_t partition = 0;
    std::int32_t current_leader_epoch = -1;
    std::int64_t fetch_offset = 0;
    std::int32_t last_fetched_epoch = -1;
    std::int64_t log_start_offset = -1;
    std::int32_t partition_max_bytes = 0;
  };
  struct Topic {
    std::string name;  // Up to version 12,
    Uuid topic_id;     // from version 13.
    std::vector<Partition> partitions;
  };
  struct ForgottenTopic {
    std::string name;
    Uuid topic_id;
    std::vector<std::int32_t> partitions;
  };

  std::optional<std::string> cluster_id;
  std::int32_t replica_id = kNoReplica;
  std::int32_t max_wait_ms = 0;
  std::int32_t min_bytes = 0;
  std::int32_t max_bytes = std::numeric_limits<std::int32_t>::max();
  IsolationLevel isolation_level = IsolationLevel::kReadUncommitted;
  std::int32_t session_id = 0;
  std::int32_t session_epoch = -1;
  std::vector<Topic> topics;
  std::vector<ForgottenTopic> forgotten_topics;
  std::string rack_id;
};

// Timestamps of a ListOffsets request that are not times.
inline constexpr std::int64_t kLatestOffset = -1;
inline constexpr std::int64_t kEarliestOffset = -2;
inline constexpr std::int64_t kOffsetOfMaxTimestamp = -3;
// The earliest offset that is not in tiered storage: version 8.
inline constexpr std::int64_t kEarliestLocalOffset = -4;

struct ListOffsetsResponse {
  static constexpr ApiKey kApi = ApiKey::kListOffsets;
  struct Partition {
    std::int32_t partition_index = 0;
    ErrorCode error_code = ErrorCode::kNone;
    std::vector<std::int64_t> old_style_offsets;  // Version 0 has this and no other offset.
    std::int64_t timestamp = -1;
    std::int64_t offset = -1;
    std::int32_t leader_epoch = -1;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct ListOffsetsRequest {
  static constexpr ApiKey kApi = ApiKey::kListOffsets;
  using Response = ListOffsetsResponse;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int32_t current_leader_epoch = -1;
    std::int64_t timestamp = kLatestOffset;
    std::int32_t max_num_offsets = 1;  // Version 0 only.
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t replica_id = kNoReplica;
  IsolationLevel isolation_level = IsolationLevel::kReadUncommitted;
  std::vector<Topic> topics;
};

struct OffsetForLeaderEpochResponse {
  static constexpr ApiKey kApi = ApiKey::kOffsetForLeaderEpoch;
  struct Partition {
    ErrorCode error_code = ErrorCode::kNone;
    std::int32_t partition = 0;
    std::int32_t leader_epoch = -1;
    std::int64_t end_offset = -1;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct OffsetForLeaderEpochRequest {
  static constexpr ApiKey kApi = ApiKey::kOffsetForLeaderEpoch;
  using Response = OffsetForLeaderEpochResponse;
  struct Partition {
    std::int32_t partition = 0;
    std::int32_t current_leader_epoch = -1;
    std::int32_t leader_epoch = -1;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t replica_id = kNoReplica;
  std::vector<Topic> topics;
};

}  // namespace moraine::kafka
