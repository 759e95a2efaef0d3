// The configs of a topic: names, defaults and meanings.
//
// Promise    Pure. Names and defaults are those that Kafka users know.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "queue/partition.h"
#include "service/topics.h"

namespace moraine {

// Names in moraine.consumers.important.
inline constexpr std::size_t kImportantConsumersMax = 1'000;

enum class ConfigType : std::uint8_t { kBoolean, kString, kInt, kLong, kList };

struct ConfigInfo {
  std::string_view name;
  ConfigType type;
  std::string_view default_value;
  std::string_view meaning;  // One sentence, for people.
};

// In the order of their names.
std::span<const ConfigInfo> topic_configs();
const ConfigInfo* find_topic_config(std::string_view name);
// kInvalidArgument: no such config, or a value that it cannot have.
Result<void> check_topic_config(const std::string& name, const std::string& value);

struct TopicSettings {
  std::optional<std::uint64_t> retention_ms;
  std::optional<std::uint64_t> retention_bytes;
  std::uint64_t max_message_bytes = 1'048'588;
  bool log_append_time = false;  // message.timestamp.type
};
// Requires: checked values.
TopicSettings topic_settings(const TopicInfo& topic);
queue::PartitionConfig partition_config(const TopicInfo& topic);

}  // namespace moraine
