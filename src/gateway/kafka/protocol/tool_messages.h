// Requests of operators' tools: log folders, access rules, reassignments, elections, quotas,
// credentials, transactions, partitions of many topics in pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/cluster_messages.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

// A topic and some of its partitions, as these requests name them.
struct NamedPartitions {
  std::string topic;
  std::vector<std::int32_t> partitions;
};

struct DescribeAclsResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeAcls;
  struct Acl {
    std::string principal;
    std::string host;
    std::int8_t operation = 0;
    std::int8_t permission_type = 0;
  };
  struct Resource {
    std::int8_t resource_type = 0;
    std::string resource_name;
    std::int8_t pattern_type = 0;
    std::vector<Acl> acls;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  std::vector<Resource> resources;
};

struct DescribeAclsRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeAcls;
  using Response = DescribeAclsResponse;

  std::int8_t resource_type_filter = 0;
  std::optional<std::string> resource_name_filter;
  std::int8_t pattern_type_filter = 0;
  std::optional<std::string> principal_filter;
  std::optional<std::string> host_filter;
  std::int8_t operation = 0;
  std::int8_t permission_type = 0;
};

struct DescribeLogDirsResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeLogDirs;
  struct Partition {
    std::int32_t partition_index = 0;
    std::int64_t partition_size = 0;
    std::int64_t offset_lag = 0;
    bool is_future_key = false;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };
  struct Result {
    ErrorCode error_code = ErrorCode::kNone;
    std::string log_dir;
    std::vector<Topic> topics;
    std::int64_t total_bytes = -1;  // -1: not known.
    std::int64_t usable_bytes = -1;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::vector<Result> results;
};

struct DescribeLogDirsRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeLogDirs;
  using Response = DescribeLogDirsResponse;

  std::optional<std::vector<NamedPartitions>> topics;  // Null: all.
};

struct ElectLeadersResponse {
  static constexpr ApiKey kApi = ApiKey::kElectLeaders;
  struct Partition {
    std::int32_t partition_id = 0;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
  };
  struct Topic {
    std::string topic;
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::vector<Topic> results;
};

struct ElectLeadersRequest {
  static constexpr ApiKey kApi = ApiKey::kElectLeaders;
  using Response = ElectLeadersResponse;

  std::int8_t election_type = 0;
  std::optional<std::vector<NamedPartitions>> topics;  // Null: all.
  std::int32_t timeout_ms = 60'000;
};

struct ListPartitionReassignmentsResponse {
  static constexpr ApiKey kApi = ApiKey::kListPartitionReassignments;
  struct Partition {
    std::int32_t partition_index = 0;
    std::vector<std::int32_t> replicas;
    std::vector<std::int32_t> adding_replicas;
    std::vector<std::int32_t> removing_replicas;
  };
  struct Topic {
    std::string name;
    std::vector<Partition> partitions;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  std::vector<Topic> topics;
};

struct ListPartitionReassignmentsRequest {
  static constexpr ApiKey kApi = ApiKey::kListPartitionReassignments;
  using Response = ListPartitionReassignmentsResponse;

  std::int32_t timeout_ms = 60'000;
  std::optional<std::vector<NamedPartitions>> topics;  // Null: all.
};

struct DescribeClientQuotasResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeClientQuotas;
  struct Entity {
    std::string entity_type;
    std::optional<std::string> entity_name;
  };
  struct Value {
    std::string key;
    double value = 0;
  };
  struct Entry {
    std::vector<Entity> entity;
    std::vector<Value> values;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  std::optional<std::vector<Entry>> entries;
};

struct DescribeClientQuotasRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeClientQuotas;
  using Response = DescribeClientQuotasResponse;
  struct Component {
    std::string entity_type;
    std::int8_t match_type = 0;
    std::optional<std::string> match;
  };

  std::vector<Component> components;
  bool strict = false;
};

struct DescribeUserScramCredentialsResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeUserScramCredentials;
  struct Credential {
    std::int8_t mechanism = 0;
    std::int32_t iterations = 0;
  };
  struct User {
    std::string user;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
    std::vector<Credential> credentials;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  std::vector<User> results;
};

struct DescribeUserScramCredentialsRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeUserScramCredentials;
  using Response = DescribeUserScramCredentialsResponse;
  struct User {
    std::string name;
  };

  std::optional<std::vector<User>> users;  // Null and empty: all.
};

struct ListTransactionsResponse {
  static constexpr ApiKey kApi = ApiKey::kListTransactions;
  struct Transaction {
    std::string transactional_id;
    std::int64_t producer_id = -1;
    std::string state;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::vector<std::string> unknown_state_filters;
  std::vector<Transaction> transactions;
};

struct ListTransactionsRequest {
  static constexpr ApiKey kApi = ApiKey::kListTransactions;
  using Response = ListTransactionsResponse;

  std::vector<std::string> state_filters;
  std::vector<std::int64_t> producer_id_filters;
  std::int64_t duration_filter = -1;
};

// Where the next page of DescribeTopicPartitions begins.
struct PartitionCursor {
  std::string topic_name;
  std::int32_t partition_index = 0;
};

struct DescribeTopicPartitionsResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeTopicPartitions;
  struct Partition {
    ErrorCode error_code = ErrorCode::kNone;
    std::int32_t partition_index = 0;
    std::int32_t leader_id = -1;
    std::int32_t leader_epoch = -1;
    std::vector<std::int32_t> replica_nodes;
    std::vector<std::int32_t> isr_nodes;
    std::optional<std::vector<std::int32_t>> eligible_leader_replicas;
    std::optional<std::vector<std::int32_t>> last_known_elr;
    std::vector<std::int32_t> offline_replicas;
  };
  struct Topic {
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> name;
    Uuid topic_id;
    bool is_internal = false;
    std::vector<Partition> partitions;
    std::int32_t authorized_operations = kOperationsNotAsked;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics;
  std::optional<PartitionCursor> next_cursor;
};

struct DescribeTopicPartitionsRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeTopicPartitions;
  using Response = DescribeTopicPartitionsResponse;
  struct Topic {
    std::string name;
  };

  std::vector<Topic> topics;  // Empty: all.
  std::int32_t response_partition_limit = 2'000;
  std::optional<PartitionCursor> cursor;
};

}  // namespace moraine::kafka
