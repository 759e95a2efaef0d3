// Administration of topics and their records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

struct CreateTopicsResponse {
  static constexpr ApiKey kApi = ApiKey::kCreateTopics;
  struct Config {
    std::string name;
    std::optional<std::string> value;
    bool read_only = false;
    std::int8_t config_source = -1;
    bool is_sensitive = false;
  };
  struct Topic {
    std::string name;
    Uuid topic_id;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
    ErrorCode topic_config_error_code = ErrorCode::kNone;
    std::int32_t num_partitions = -1;
    std::int16_t replication_factor = -1;
    std::optional<std::vector<Config>> configs;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct CreateTopicsRequest {
  static constexpr ApiKey kApi = ApiKey::kCreateTopics;
  using Response = CreateTopicsResponse;
  struct Assignment {
    std::int32_t partition_index = 0;
    std::vector<std::int32_t> broker_ids;
  };
  struct Config {
    std::string name;
    std::optional<std::string> value;
  };
  struct Topic {
    std::string name;
    std::int32_t num_partitions = -1;      // -1: the server's default, or as assigned.
    std::int16_t replication_factor = -1;  // Likewise.
    std::vector<Assignment> assignments;
    std::vector<Config> configs;
  };

  std::vector<Topic> topics;
  std::int32_t timeout_ms = 0;
  bool validate_only = false;
};

struct DeleteTopicsResponse {
  static constexpr ApiKey kApi = ApiKey::kDeleteTopics;
  struct Topic {
    std::optional<std::string> name = std::string();
    Uuid topic_id;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct DeleteTopicsRequest {
  static constexpr ApiKey kApi = ApiKey::kDeleteTopics;
  using Response = DeleteTopicsResponse;
  // Versions below 6 carry the name only.
  struct Topic {
    std::optional<std::string> name;  // Null: by topic_id.
    Uuid topic_id;
  };

  std::vector<Topic> topics;
  std::int32_t timeout_ms = 0;
};

struct CreatePartitionsResponse {
  static constexpr ApiKey kApi = ApiKey::kCreatePartitions;
  struct Topic {
    std::string name;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> results;
};

struct CreatePartitionsRequest {
  static constexpr ApiKey kApi = ApiKey::kCreatePartitions;
  using Response = CreatePartitionsResponse;
  struct Assignment {
    std::vector<std::int32_t> broker_ids;
  };
  struct Topic {
    std::string name;
    std::int32_t count = 0;  // The new total.
    std::optional<std::vector<Assignment>> assignments;
  };

  std::vector<Topic> topics;
  std::int32_t timeout_ms = 0;
  bool validate_only = false;
};

// Deletes up to the end when it is the offset of a DeleteRecords request.
inline constexpr std::int64_t kHighWatermark = -1;

struct DeleteRecordsResponse {
  static constexpr ApiKey kApi = ApiKey::kDeleteRecords;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int64_t low_watermark = -1;
    ErrorCode error_code = ErrorCode::kNone;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct DeleteRecordsRequest {
  static constexpr ApiKey kApi = ApiKey::kDeleteRecords;
  using Response = DeleteRecordsResponse;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int64_t offset = kHighWatermark;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::vector<Topic> topics;
  std::int32_t timeout_ms = 0;
};

}  // namespace moraine::kafka
