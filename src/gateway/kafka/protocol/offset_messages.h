// Offsets that consumer groups commit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

struct OffsetCommitResponse {
  static constexpr ApiKey kApi = ApiKey::kOffsetCommit;
  struct Partition {
    std::int32_t partition_index = 0;
    ErrorCode error_code = ErrorCode::kNone;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct OffsetCommitRequest {
  static constexpr ApiKey kApi = ApiKey::kOffsetCommit;
  using Response = OffsetCommitResponse;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int64_t committed_offset = 0;
    std::int32_t committed_leader_epoch = -1;
    std::int64_t commit_timestamp = -1;  // Version 1 only.
    std::optional<std::string> committed_metadata;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::string group_id;
  std::int32_t generation_id = -1;  // -1 with an empty member id: not a member.
  std::string member_id;
  std::optional<std::string> group_instance_id;
  std::int64_t retention_time_ms = -1;
  std::vector<Topic> topics;
};

struct OffsetFetchResponse {
  static constexpr ApiKey kApi = ApiKey::kOffsetFetch;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int64_t committed_offset = -1;
    std::int32_t committed_leader_epoch = -1;
    std::optional<std::string> metadata = std::string();
    ErrorCode error_code = ErrorCode::kNone;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };
  // Versions below 8 carry the first one only, without its id.
  struct Group {
    std::string group_id;
    std::vector<Topic> topics;
    ErrorCode error_code = ErrorCode::kNone;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Group> groups;
};

struct OffsetFetchRequest {
  static constexpr ApiKey kApi = ApiKey::kOffsetFetch;
  using Response = OffsetFetchResponse;
  struct Topic {
    std::string name;
    std::vector<std::int32_t> partition_indexes;
  };
  struct Group {
    std::string group_id;
    std::optional<std::vector<Topic>> topics;  // Null: all that are committed.
  };

  std::vector<Group> groups;  // Versions below 8: exactly one.
  bool require_stable = false;
};

struct OffsetDeleteResponse {
  static constexpr ApiKey kApi = ApiKey::kOffsetDelete;
  struct Partition {
    std::int32_t partition_index = 0;
    ErrorCode error_code = ErrorCode::kNone;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  ErrorCode error_code = ErrorCode::kNone;
  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
};

struct OffsetDeleteRequest {
  static constexpr ApiKey kApi = ApiKey::kOffsetDelete;
  using Response = OffsetDeleteResponse;
  struct Topic {
    std::string name;
    std::vector<std::int32_t> partitions;
  };

  std::string group_id;
  std::vector<Topic> topics;
};

}  // namespace moraine::kafka
