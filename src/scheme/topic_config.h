// The configs of a topic: names, defaults and meanings.
//
// Promise    Pure. Names and defaults are those of Kafka. Kafka's configs that are harmless here
//            are accepted and stored, and their meaning says that they have no effect; a value that
//            promises something that is not supported is refused.
// Limits     kImportantConsumersMax, kConfigTextBytesMax.
// Tests      topic_config_test.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "queue/partition.h"
#include "scheme/topic.h"

namespace moraine {

// Names in moraine.consumers.important.
inline constexpr std::size_t kImportantConsumersMax = 1'000;
inline constexpr std::uint32_t kPartitionsPerTabletMax = 1'000;
// Of a config that is a list of replicas.
inline constexpr std::size_t kConfigTextBytesMax = 4'096;

enum class ConfigType : std::uint8_t { kBoolean, kString, kInt, kLong, kDouble, kList };

struct ConfigInfo {
  std::string_view name;
  ConfigType type = ConfigType::kString;
  std::string_view default_value;
  std::string_view meaning;           // One sentence of documentation.
  std::string_view broker_name = {};  // Of Kafka's default for all topics; empty: the name.
  bool has_effect = true;
};

// In the order of their names.
std::span<const ConfigInfo> topic_configs();
const ConfigInfo* find_topic_config(std::string_view name);
// kInvalidArgument: no such config, an invalid value, or one that is not supported.
Result<void> check_topic_config(const std::string& name, const std::string& value);
// The same for stored values: values that were accepted once stay valid. kInvalidArgument.
Result<void> check_stored_config(const std::string& name, const std::string& value);

// The codec of compression.type.
enum class TopicCompression : std::uint8_t { kProducer, kNone, kGzip, kSnappy, kLz4, kZstd };

struct TopicSettings {
  std::optional<std::uint64_t> retention_ms;
  std::optional<std::uint64_t> retention_bytes;
  std::uint64_t max_message_bytes = 1'048'588;
  bool log_append_time = false;  // message.timestamp.type
  // For CreateTime: how far a message's timestamp may be from the broker's time.
  std::int64_t before_max_ms = std::numeric_limits<std::int64_t>::max();
  std::int64_t after_max_ms = std::numeric_limits<std::int64_t>::max();
  TopicCompression compression = TopicCompression::kProducer;
  std::optional<int> compression_level;  // nullopt: the codec's default.

  bool bounds_time() const {
    return before_max_ms != std::numeric_limits<std::int64_t>::max() ||
           after_max_ms != std::numeric_limits<std::int64_t>::max();
  }
};
// Requires: checked values.
TopicSettings topic_settings(const TopicInfo& topic);
queue::PartitionConfig partition_config(const TopicInfo& topic);
// How many partitions a tablet gets when partitions are added.
// As configured; by default as many as spread `partitions` over all lanes of a node.
std::uint32_t partitions_per_tablet(const TopicInfo& topic, std::uint32_t partitions,
                                    std::size_t lanes);

}  // namespace moraine
