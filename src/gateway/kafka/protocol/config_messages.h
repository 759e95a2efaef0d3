// Settings of topics and brokers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

enum class ResourceType : std::int8_t { kUnknown = 0, kTopic = 2, kBroker = 4, kBrokerLogger = 8 };

enum class ConfigSource : std::int8_t {
  kUnknown = -1,
  kDynamicTopic = 1,
  kDynamicBroker = 2,
  kDefaultBroker = 3,
  kStaticBroker = 4,
  kDefault = 5,
};

enum class ConfigType : std::int8_t {
  kUnknown = 0,
  kBoolean = 1,
  kString = 2,
  kInt = 3,
  kShort = 4,
  kLong = 5,
  kDouble = 6,
  kList = 7,
  kClass = 8,
  kPassword = 9,
};

enum class ConfigOperation : std::int8_t { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

struct DescribeConfigsResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeConfigs;
  struct Synonym {
    std::string name;
    std::optional<std::string> value;
    ConfigSource source = ConfigSource::kUnknown;
  };
  struct Config {
    std::string name;
    std::optional<std::string> value;
    bool read_only = false;
    bool is_default = false;  // Version 0 only: config_source is kDefault.
    ConfigSource config_source = ConfigSource::kUnknown;
    bool is_sensitive = false;
    std::vector<Synonym> synonyms;
    ConfigType config_type = ConfigType::kUnknown;
    std::optional<std::string> documentation;
  };
  struct Resource {
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message;
    ResourceType resource_type = ResourceType::kUnknown;
    std::string resource_name;
    std::vector<Config> configs;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Resource> results;
};

struct DescribeConfigsRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeConfigs;
  using Response = DescribeConfigsResponse;
  struct Resource {
    ResourceType resource_type = ResourceType::kUnknown;
    std::string resource_name;
    std::optional<std::vector<std::string>> configuration_keys;  // Null: all.
  };

  std::vector<Resource> resources;
  bool include_synonyms = false;
  bool include_documentation = false;
};

// The response of both alter requests, one element for each resource of the request.
struct AlteredResource {
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message;
  ResourceType resource_type = ResourceType::kUnknown;
  std::string resource_name;
};

struct AlterConfigsResponse {
  static constexpr ApiKey kApi = ApiKey::kAlterConfigs;

  std::int32_t throttle_time_ms = 0;
  std::vector<AlteredResource> responses;
};

// Replaces every override of each resource.
struct AlterConfigsRequest {
  static constexpr ApiKey kApi = ApiKey::kAlterConfigs;
  using Response = AlterConfigsResponse;
  struct Config {
    std::string name;
    std::optional<std::string> value;
  };
  struct Resource {
    ResourceType resource_type = ResourceType::kUnknown;
    std::string resource_name;
    std::vector<Config> configs;
  };

  std::vector<Resource> resources;
  bool validate_only = false;
};

struct IncrementalAlterConfigsResponse {
  static constexpr ApiKey kApi = ApiKey::kIncrementalAlterConfigs;

  std::int32_t throttle_time_ms = 0;
  std::vector<AlteredResource> responses;
};

struct IncrementalAlterConfigsRequest {
  static constexpr ApiKey kApi = ApiKey::kIncrementalAlterConfigs;
  using Response = IncrementalAlterConfigsResponse;
  struct Config {
    std::string name;
    ConfigOperation config_operation = ConfigOperation::kSet;
    std::optional<std::string> value;
  };
  struct Resource {
    ResourceType resource_type = ResourceType::kUnknown;
    std::string resource_name;
    std::vector<Config> configs;
  };

  std::vector<Resource> resources;
  bool validate_only = false;
};

}  // namespace moraine::kafka
