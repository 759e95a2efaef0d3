// Producer ids and transactions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

inline constexpr std::int64_t kNoProducerId = -1;
inline constexpr std::int16_t kNoProducerEpoch = -1;

struct InitProducerIdResponse {
  static constexpr ApiKey kApi = ApiKey::kInitProducerId;

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = kNoProducerEpoch;
};

struct InitProducerIdRequest {
  static constexpr ApiKey kApi = ApiKey::kInitProducerId;
  using Response = InitProducerIdResponse;

  std::optional<std::string> transactional_id;
  std::int32_t transaction_timeout_ms = 0;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = kNoProducerEpoch;
};

struct AddPartitionsToTxnResponse {
  static constexpr ApiKey kApi = ApiKey::kAddPartitionsToTxn;
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

struct AddPartitionsToTxnRequest {
  static constexpr ApiKey kApi = ApiKey::kAddPartitionsToTxn;
  using Response = AddPartitionsToTxnResponse;
  struct Topic {
    std::string name;
    std::vector<std::int32_t> partitions;
  };

  std::string transactional_id;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = kNoProducerEpoch;
  std::vector<Topic> topics;
};

struct AddOffsetsToTxnResponse {
  static constexpr ApiKey kApi = ApiKey::kAddOffsetsToTxn;

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
};

struct AddOffsetsToTxnRequest {
  static constexpr ApiKey kApi = ApiKey::kAddOffsetsToTxn;
  using Response = AddOffsetsToTxnResponse;

  std::string transactional_id;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = kNoProducerEpoch;
  std::string group_id;
};

struct TxnOffsetCommitResponse {
  static constexpr ApiKey kApi = ApiKey::kTxnOffsetCommit;
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

struct TxnOffsetCommitRequest {
  static constexpr ApiKey kApi = ApiKey::kTxnOffsetCommit;
  using Response = TxnOffsetCommitResponse;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int64_t committed_offset = 0;
    std::int32_t committed_leader_epoch = -1;
    std::optional<std::string> committed_metadata;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::string transactional_id;
  std::string group_id;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = kNoProducerEpoch;
  std::int32_t generation_id = -1;
  std::string member_id;
  std::optional<std::string> group_instance_id;
  std::vector<Topic> topics;
};

struct EndTxnResponse {
  static constexpr ApiKey kApi = ApiKey::kEndTxn;

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
};

struct EndTxnRequest {
  static constexpr ApiKey kApi = ApiKey::kEndTxn;
  using Response = EndTxnResponse;

  std::string transactional_id;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = kNoProducerEpoch;
  bool committed = false;
};

}  // namespace moraine::kafka
