// Topics: the topics of a node, by name and by id.
//
// Promise    A change is durable when create, alter or remove returns OK. A partition is null while
//            its tablet is being started.
// Threading  The node's executor.
// Limits     kPartitionsPerTopicMax, kTopicsMax; the names of topics as in check_topic_name().
// Errors     kAlreadyExists, kNotFound, kInvalidArgument, kOverloaded; kUnavailable: the outcome is
//            unknown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/task.h"
#include "queue/partition.h"

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

class Topics {
 public:
  virtual ~Topics() = default;

  virtual Task<Result<TopicPtr>> create(std::string name, TopicSpec spec) = 0;
  virtual Task<Result<TopicPtr>> alter(std::string name, TopicChange change) = 0;
  virtual Task<Result<void>> remove(std::string name) = 0;

  // Null when there is none.
  virtual TopicPtr find(const std::string& name) const = 0;
  virtual TopicPtr find(const TopicId& id) const = 0;
  virtual std::vector<TopicPtr> list() const = 0;  // By name.

  virtual std::shared_ptr<queue::Partition> partition(const TopicId& topic,
                                                      queue::PartitionIndex index) = 0;
  // Why the last boot of a partition's tablet failed. nullopt: it runs, or was not booted yet.
  virtual std::optional<Error> start_error(const TopicId& topic,
                                           queue::PartitionIndex index) const = 0;
};

}  // namespace moraine
