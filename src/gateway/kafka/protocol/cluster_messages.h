// The first requests of a client: versions, brokers, topics, coordinators.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

// authorized_operations when the request did not ask for them.
inline constexpr std::int32_t kOperationsNotAsked = std::numeric_limits<std::int32_t>::min();

struct ApiVersionsResponse {
  static constexpr ApiKey kApi = ApiKey::kApiVersions;
  struct Range {
    ApiKey api_key = {};
    std::int16_t min_version = 0;
    std::int16_t max_version = 0;
  };
  struct SupportedFeature {
    std::string name;
    std::int16_t min_version = 0;
    std::int16_t max_version = 0;
  };
  struct FinalizedFeature {
    std::string name;
    std::int16_t max_version_level = 0;
    std::int16_t min_version_level = 0;
  };

  ErrorCode error_code = ErrorCode::kNone;
  std::vector<Range> api_keys;
  std::int32_t throttle_time_ms = 0;
  std::vector<SupportedFeature> supported_features;
  std::optional<std::int64_t> finalized_features_epoch;
  std::vector<FinalizedFeature> finalized_features;
  bool zk_migration_ready = false;
};

struct ApiVersionsRequest {
  static constexpr ApiKey kApi = ApiKey::kApiVersions;
  using Response = ApiVersionsResponse;

  std::string client_software_name;
  std::string client_software_version;
};

// The table of api.h without the unsupported parts.
ApiVersionsResponse offered_apis(ServedParts parts);

struct MetadataResponse {
  static constexpr ApiKey kApi = ApiKey::kMetadata;
  struct Broker {
    std::int32_t node_id = 0;
    std::string host;
    std::int32_t port = 0;
    std::optional<std::string> rack;
  };
  struct Partition {
    ErrorCode error_code = ErrorCode::kNone;
    std::int32_t partition_index = 0;
    std::int32_t leader_id = -1;
    std::int32_t leader_epoch = -1;
    std::vector<std::int32_t> replica_nodes;
    std::vector<std::int32_t> isr_nodes;
    std::vector<std::int32_t> offline_replicas;
  };
  struct Topic {
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> name = std::string();
    Uuid topic_id;
    bool is_internal = false;
    std::vector<Partition> partitions;
    std::int32_t authorized_operations = kOperationsNotAsked;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Broker> brokers;
  std::optional<std::string> cluster_id;
  std::int32_t controller_id = -1;
  std::vector<Topic> topics;
  std::int32_t cluster_authorized_operations = kOperationsNotAsked;
};

struct MetadataRequest {
  static constexpr ApiKey kApi = ApiKey::kMetadata;
  using Response = MetadataResponse;
  struct Topic {
    Uuid topic_id;
    std::optional<std::string> name = std::string();
  };

  // Null: all topics. In version 0, where there is no null, an empty list is read as null.
  std::optional<std::vector<Topic>> topics;
  bool allow_auto_topic_creation = true;
  bool include_cluster_authorized_operations = false;
  bool include_topic_authorized_operations = false;
};

struct FindCoordinatorResponse {
  static constexpr ApiKey kApi = ApiKey::kFindCoordinator;
  // Versions below 4 carry the first one only, without its key.
  struct Coordinator {
    std::string key;
    std::int32_t node_id = -1;
    std::string host;
    std::int32_t port = -1;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Coordinator> coordinators;
};

enum class CoordinatorKind : std::int8_t { kGroup = 0, kTransaction = 1 };

struct FindCoordinatorRequest {
  static constexpr ApiKey kApi = ApiKey::kFindCoordinator;
  using Response = FindCoordinatorResponse;

  CoordinatorKind key_type = CoordinatorKind::kGroup;
  std::vector<std::string> keys;  // Versions below 4: exactly one.
};

enum class EndpointType : std::int8_t { kBrokers = 1, kControllers = 2 };

struct DescribeClusterResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeCluster;
  struct Broker {
    std::int32_t broker_id = 0;
    std::string host;
    std::int32_t port = 0;
    std::optional<std::string> rack;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  EndpointType endpoint_type = EndpointType::kBrokers;
  std::string cluster_id;
  std::int32_t controller_id = -1;
  std::vector<Broker> brokers;
  std::int32_t cluster_authorized_operations = kOperationsNotAsked;
};

struct DescribeClusterRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeCluster;
  using Response = DescribeClusterResponse;

  bool include_cluster_authorized_operations = false;
  EndpointType endpoint_type = EndpointType::kBrokers;
};

}  // namespace moraine::kafka
