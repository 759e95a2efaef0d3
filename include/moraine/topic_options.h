// A topic as it is described: its identity, partitions, configs and consumers.
//
// Configs have the names, values and defaults of Kafka, as text: {{"retention.ms", "3600000"}}.
// Those that only some topics need: "retention.bytes", "max.message.bytes", "compression.type"
// (none, gzip, snappy, lz4 or zstd: how batches are stored), "message.timestamp.type".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace moraine {

using TopicId = std::array<std::uint8_t, 16>;

struct TopicConsumer {
  bool important = false;  // No message that it has not read is removed.
  bool operator==(const TopicConsumer&) const = default;
};

struct TopicInfo {
  std::string name;  // "orders", "team/orders".
  TopicId id{};      // Never all zero; new for a topic that was removed and created again.
  std::uint32_t partitions = 1;
  std::map<std::string, std::string> config;       // Differences from the defaults.
  std::map<std::string, TopicConsumer> consumers;  // Declared ones; others may commit offsets too.
  std::uint64_t created_ms = 0;
};

struct TopicSpec {
  std::uint32_t partitions = 1;
  std::map<std::string, std::string> config = {};
  std::map<std::string, TopicConsumer> consumers = {};
};

// Applied as a whole or not at all.
struct TopicChange {
  std::optional<std::uint32_t> partitions = {};  // The new total; more than the current one.
  std::map<std::string, std::optional<std::string>> config = {};  // nullopt: reset to the default.
  bool replace_config = false;  // Resets configs that `config` does not name.
  std::map<std::string, std::optional<TopicConsumer>> consumers = {};  // nullopt: removed.
};

}  // namespace moraine
