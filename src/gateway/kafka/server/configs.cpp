#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/repeats.h"
#include "scheme/topic_config.h"

namespace moraine::kafka {
namespace {

using Config = DescribeConfigsResponse::Config;

// Items of a list are searched linearly.
constexpr std::size_t kListBytesMax = 1'024;

kafka::ConfigType wire_type(moraine::ConfigType type) {
  switch (type) {
    case moraine::ConfigType::kBoolean: return kafka::ConfigType::kBoolean;
    case moraine::ConfigType::kString: return kafka::ConfigType::kString;
    case moraine::ConfigType::kInt: return kafka::ConfigType::kInt;
    case moraine::ConfigType::kLong: return kafka::ConfigType::kLong;
    case moraine::ConfigType::kDouble: return kafka::ConfigType::kDouble;
    case moraine::ConfigType::kList: return kafka::ConfigType::kList;
  }
  return kafka::ConfigType::kUnknown;
}

bool asked_for(const DescribeConfigsRequest::Resource& asked, std::string_view name) {
  return !asked.configuration_keys || std::ranges::count(*asked.configuration_keys, name) > 0;
}

Config topic_config(const TopicInfo& topic, const ConfigInfo& info,
                    const DescribeConfigsRequest& request) {
  const auto set = topic.config.find(std::string(info.name));
  const bool is_set = set != topic.config.end();
  Config config;
  config.name = info.name;
  config.value = is_set ? set->second : std::string(info.default_value);
  config.is_default = !is_set;
  config.config_source = is_set ? ConfigSource::kDynamicTopic : ConfigSource::kDefault;
  config.config_type = wire_type(info.type);
  if (request.include_documentation) config.documentation = std::string(info.meaning);
  if (request.include_synonyms) {
    if (is_set) {
      config.synonyms.push_back({config.name, config.value, ConfigSource::kDynamicTopic});
    }
    const std::string_view broker_name = info.broker_name.empty() ? info.name : info.broker_name;
    config.synonyms.push_back(
        {std::string(broker_name), std::string(info.default_value), ConfigSource::kDefault});
  }
  return config;
}

Config broker_config(std::string name, std::string value, kafka::ConfigType type) {
  Config config;
  config.name = std::move(name);
  config.value = std::move(value);
  config.read_only = true;
  config.config_source = ConfigSource::kStaticBroker;
  config.config_type = type;
  return config;
}

std::vector<Config> broker_configs(const KafkaOptions& options) {
  return {
      broker_config(
          "advertised.listeners",
          fmt::format("PLAINTEXT://{}:{}", options.advertised_host, options.advertised_port),
          kafka::ConfigType::kString),
      broker_config("auto.create.topics.enable", options.auto_create_topics ? "true" : "false",
                    kafka::ConfigType::kBoolean),
      broker_config("broker.id", std::to_string(options.node_id), kafka::ConfigType::kInt),
      broker_config("default.replication.factor", "1", kafka::ConfigType::kInt),
      broker_config("num.partitions", std::to_string(options.default_partitions),
                    kafka::ConfigType::kInt),
      broker_config("socket.request.max.bytes", std::to_string(kRequestBytesMax),
                    kafka::ConfigType::kInt),
  };
}

DescribeConfigsResponse::Resource describe(const ServerContext& server,
                                           const DescribeConfigsRequest& request,
                                           const DescribeConfigsRequest::Resource& asked) {
  DescribeConfigsResponse::Resource resource;
  resource.resource_type = asked.resource_type;
  resource.resource_name = asked.resource_name;
  if (asked.resource_type == ResourceType::kTopic) {
    const TopicPtr topic = server.topics.find(asked.resource_name);
    if (!topic) {
      resource.error_code = ErrorCode::kUnknownTopicOrPartition;
      resource.error_message = "there is no such topic";
      return resource;
    }
    for (const ConfigInfo& info : topic_configs()) {
      if (asked_for(asked, info.name)) {
        resource.configs.push_back(topic_config(*topic, info, request));
      }
    }
  } else if (asked.resource_type == ResourceType::kBroker &&
             asked.resource_name == std::to_string(server.options.node_id)) {
    for (Config& config : broker_configs(server.options)) {
      if (asked_for(asked, config.name)) resource.configs.push_back(std::move(config));
    }
  } else {
    resource.error_code = ErrorCode::kInvalidRequest;
    resource.error_message = "topics and this broker have configs";
  }
  return resource;
}

std::size_t bytes_of(const DescribeConfigsResponse::Resource& resource) {
  std::size_t bytes = 2 * sizeof(resource) + resource.error_message.value_or("").size();
  for (const Config& config : resource.configs) {
    bytes += 2 * sizeof(config) + config.name.size() + config.value.value_or("").size() +
             config.documentation.value_or("").size();
    for (const DescribeConfigsResponse::Synonym& synonym : config.synonyms) {
      bytes += 2 * sizeof(synonym) + synonym.name.size() + synonym.value.value_or("").size();
    }
  }
  return bytes;
}

std::int32_t number_of(ResourceType type) {
  return static_cast<std::int32_t>(type);
}

// Each resource once, with the keys of all its mentions.
std::vector<DescribeConfigsRequest::Resource> merged(
    std::vector<DescribeConfigsRequest::Resource> asked) {
  std::map<std::pair<std::string, ResourceType>, std::size_t> places;
  std::vector<DescribeConfigsRequest::Resource> once;
  for (DescribeConfigsRequest::Resource& resource : asked) {
    const auto [at, is_new] =
        places.try_emplace(std::pair(resource.resource_name, resource.resource_type), once.size());
    if (is_new) {
      once.push_back(std::move(resource));
      continue;
    }
    auto& keys = once[at->second].configuration_keys;
    if (!resource.configuration_keys) keys.reset();
    if (keys) std::ranges::move(*resource.configuration_keys, std::back_inserter(*keys));
  }
  return once;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    items.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return items;
}

// The value after one operation; nullopt: the default.
Checked<std::optional<std::string>> value_after(
    const TopicInfo& topic, const IncrementalAlterConfigsRequest::Config& asked) {
  if (asked.config_operation == ConfigOperation::kDelete) return std::nullopt;
  if (!asked.value) return refuse(ErrorCode::kInvalidRequest, asked.name + " is null");
  if (asked.config_operation == ConfigOperation::kSet) return asked.value;
  const ConfigInfo* const info = find_topic_config(asked.name);
  const bool appends = asked.config_operation == ConfigOperation::kAppend;
  if (info == nullptr || info->type != moraine::ConfigType::kList ||
      (!appends && asked.config_operation != ConfigOperation::kSubtract)) {
    return refuse(ErrorCode::kInvalidConfig, asked.name + " is no list");
  }
  if (asked.value->size() > kListBytesMax) {
    return refuse(ErrorCode::kInvalidConfig, fmt::format("{} is longer than any list", asked.name));
  }
  const auto set = topic.config.find(asked.name);
  std::vector<std::string> items =
      split_list(set != topic.config.end() ? set->second : std::string(info->default_value));
  for (const std::string& item : split_list(*asked.value)) {
    std::erase(items, item);
    if (appends) items.push_back(item);
  }
  return fmt::format("{}", fmt::join(items, ","));
}

Checked<TopicChange> change_of(const TopicInfo&, const AlterConfigsRequest::Resource& asked) {
  TopicChange change;
  change.replace_config = true;
  for (const AlterConfigsRequest::Config& config : asked.configs) {
    change.config[config.name] = config.value;
  }
  return change;
}

Checked<TopicChange> change_of(const TopicInfo& topic,
                               const IncrementalAlterConfigsRequest::Resource& asked) {
  TopicChange change;
  for (const IncrementalAlterConfigsRequest::Config& config : asked.configs) {
    auto value = value_after(topic, config);
    if (!value) return std::unexpected(std::move(value.error()));
    change.config[config.name] = std::move(*value);
  }
  return change;
}

Checked<void> check_change(const TopicChange& change) {
  for (const auto& [name, value] : change.config) {
    if (find_topic_config(name) == nullptr) {
      return refuse(ErrorCode::kInvalidConfig, fmt::format("there is no config {}", name));
    }
    if (!value) continue;
    if (auto checked = check_topic_config(name, *value); !checked) {
      return refuse(ErrorCode::kInvalidConfig, checked.error().context);
    }
  }
  return {};
}

// Requires: no other change of configs is in flight, since the new value may depend on the old one.
template <class Resource>
Task<Checked<void>> alter(ServerContext& server, Resource asked, bool only_check) {
  if (asked.resource_type != ResourceType::kTopic) {
    co_return refuse(ErrorCode::kInvalidRequest, "only the configs of topics can be altered");
  }
  const TopicPtr topic = server.topics.find(asked.resource_name);
  if (!topic) co_return refuse(ErrorCode::kUnknownTopicOrPartition, "there is no such topic");
  auto change = change_of(*topic, asked);
  if (!change) co_return std::unexpected(std::move(change.error()));
  if (auto checked = check_change(*change); !checked || only_check) co_return checked;
  const auto altered = co_await server.topics.alter(topic->name, std::move(*change));
  if (!altered) co_return refuse(topic_error(altered.error()), altered.error().context);
  co_return Checked<void>();
}

template <class Request>
Task<typename Request::Response> alter_all(ServerContext& server, Request request,
                                           RequestContext about) {
  Occurrences names;
  for (const auto& asked : request.resources) {
    names.add(asked.resource_name, number_of(asked.resource_type));
  }
  typename Request::Response response;
  for (const auto& asked : request.resources) {
    if (about.client->disconnected()) break;
    AlteredResource& answer = response.responses.emplace_back();
    answer.resource_type = asked.resource_type;
    answer.resource_name = asked.resource_name;
    Checked<void> altered = refuse(ErrorCode::kInvalidRequest, "the resource is named twice");
    if (!names.repeated(asked.resource_name, number_of(asked.resource_type))) {
      co_await server.config_changes.acquire();
      altered = co_await alter(server, asked, request.validate_only);
      server.config_changes.release();
    }
    if (altered) continue;
    answer.error_code = server.metrics.counted(altered.error().code);
    answer.error_message = altered.error().message;
  }
  co_return response;
}

}  // namespace

Task<DescribeConfigsResponse> serve(ServerContext& server, DescribeConfigsRequest request,
                                    RequestContext about) {
  request.resources = merged(std::move(request.resources));
  DescribeConfigsResponse response;
  for (const DescribeConfigsRequest::Resource& asked : request.resources) {
    DescribeConfigsResponse::Resource resource = describe(server, request, asked);
    if (!co_await about.room->take(bytes_of(resource))) {
      resource.configs.clear();
      resource.error_code = ErrorCode::kInvalidRequest;
      resource.error_message = "too many resources in one request";
    }
    server.metrics.counted(resource.error_code);
    response.results.push_back(std::move(resource));
  }
  co_return response;
}

Task<AlterConfigsResponse> serve(ServerContext& server, AlterConfigsRequest request,
                                 RequestContext about) {
  return alter_all(server, std::move(request), std::move(about));
}

Task<IncrementalAlterConfigsResponse> serve(ServerContext& server,
                                            IncrementalAlterConfigsRequest request,
                                            RequestContext about) {
  return alter_all(server, std::move(request), std::move(about));
}

}  // namespace moraine::kafka
