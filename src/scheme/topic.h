// A topic as it is described: its identity, partitions, configs and consumers.
//
// Limits     kPartitionsPerTopicMax, kTopicsMax; the names of topics as in check_topic_name().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace moraine {

inline constexpr std::uint32_t kPartitionsPerTopicMax = 20'000;
inline constexpr std::size_t kTopicsMax = 100'000;
inline constexpr std::size_t kTopicNameBytesMax = 249;

using TopicId = std::array<std::uint8_t, 16>;

struct TopicConsumer {
  bool important = false;
  bool operator==(const TopicConsumer&) const = default;
};

struct TopicInfo {
  std::string name;  // "orders", "team/orders".
  TopicId id{};      // Never all zero; new for a topic that was removed and created again.
  std::uint32_t partitions = 1;
  std::map<std::string, std::string> config;  // Differences from the defaults (topic_config.h).
  std::map<std::string, TopicConsumer> consumers;  // Declared ones; others may commit offsets too.
  std::uint64_t created_ms = 0;
};
using TopicPtr = std::shared_ptr<const TopicInfo>;

struct TopicSpec {
  std::uint32_t partitions = 1;
  std::map<std::string, std::string> config;
  std::map<std::string, TopicConsumer> consumers;
};

// Applied as a whole or not at all.
struct TopicChange {
  std::optional<std::uint32_t> partitions;  // The new total; more than the current one.
  std::map<std::string, std::optional<std::string>> config;  // nullopt: reset to the default.
  bool replace_config = false;  // Resets configs that `config` does not name.
  std::map<std::string, std::optional<TopicConsumer>> consumers;  // nullopt: removed.
};

// Letters, digits, '.', '_', '-', and '/' between the names of folders; no part may be "." or "..".
Result<void> check_topic_name(const std::string& name);

}  // namespace moraine
