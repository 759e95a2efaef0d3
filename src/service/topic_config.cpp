#include "service/topic_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <vector>

#include "base/invariant.h"

namespace moraine {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLongMax = std::numeric_limits<std::int64_t>::max();

constexpr std::array kConfigs{
    ConfigInfo{"cleanup.policy", ConfigType::kList, "delete",
               "What happens to old messages; they are deleted."},
    ConfigInfo{"compression.type", ConfigType::kString, "producer",
               "Messages are stored as their producers compressed them."},
    ConfigInfo{"max.message.bytes", ConfigType::kInt, "1048588",
               "The longest record batch, as compressed by its producer."},
    ConfigInfo{"message.timestamp.type", ConfigType::kString, "CreateTime",
               "Whether messages carry the producer's time or that of writing."},
    ConfigInfo{"min.insync.replicas", ConfigType::kInt, "1",
               "Accepted; what is acknowledged is always durable."},
    ConfigInfo{"moraine.consumers.important", ConfigType::kList, "",
               "Consumer groups that keep what they have not read from being removed."},
    ConfigInfo{"moraine.max.bytes", ConfigType::kLong, "1099511627776",
               "Bytes in one partition past which writes are refused."},
    ConfigInfo{"moraine.max.messages", ConfigType::kLong, "1000000000000",
               "Messages in one partition past which writes are refused."},
    ConfigInfo{"moraine.write.quota", ConfigType::kLong, "0",
               "Bytes a second that one partition accepts; 0 is no quota."},
    ConfigInfo{"retention.bytes", ConfigType::kLong, "-1",
               "Bytes that one partition keeps; -1 is no limit."},
    ConfigInfo{"retention.ms", ConfigType::kLong, "604800000",
               "Milliseconds for which a message is kept; -1 is for ever."},
    ConfigInfo{"segment.bytes", ConfigType::kInt, "1073741824",
               "Accepted; partitions choose their own units of storage."},
};

// What the config of the same place may be: a number within bounds, one of two words, or names.
struct Rule {
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::string_view word;
  std::string_view other_word;
  bool names = false;
};
constexpr Rule numbers(std::int64_t min, std::int64_t max) {
  return {min, max, "", "", false};
}
constexpr Rule words(std::string_view word, std::string_view other_word = "") {
  return {0, 0, word, other_word, false};
}
constexpr Rule names() {
  return {0, 0, "", "", true};
}
constexpr std::array kRules{
    words("delete"),
    words("producer"),
    numbers(0, std::int64_t{queue::kPayloadBytesMax}),
    words("CreateTime", "LogAppendTime"),
    numbers(1, kIntMax),
    names(),
    numbers(1, kLongMax),
    numbers(1, kLongMax),
    numbers(0, kLongMax),
    numbers(-1, kLongMax),
    numbers(-1, kLongMax),
    numbers(14, kIntMax),
};
static_assert(kConfigs.size() == kRules.size());

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Between commas; the empty text has none.
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t end = text.find(',');
    found.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) found.emplace_back();
  }
  return found;
}

Result<void> check_names(const std::string& name, const std::string& value) {
  const std::vector<std::string> found = split_names(value);
  if (found.size() > kImportantConsumersMax) {
    return fail(Errc::kInvalidArgument, fmt::format("{} has {} names, more than {}", name,
                                                    found.size(), kImportantConsumersMax));
  }
  const std::set<std::string> distinct(found.begin(), found.end());
  const bool well_formed = std::ranges::all_of(found, [](const std::string& one) {
    return !one.empty() && one.size() <= queue::kConsumerNameBytesMax &&
           std::ranges::none_of(one, [](unsigned char c) { return c <= ' '; });
  });
  if (distinct.size() == found.size() && well_formed) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is a list of distinct names of at most {} bytes with commas between "
                          "them and no spaces, not '{}'",
                          name, queue::kConsumerNameBytesMax, value));
}

std::unexpected<Error> no_config(const std::string& name) {
  std::string known;
  for (const ConfigInfo& config : kConfigs) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", config.name);
  }
  return fail(Errc::kInvalidArgument, fmt::format("no config '{}'; there are {}", name, known));
}

std::string value_of(const TopicInfo& topic, std::string_view name) {
  const auto set = topic.config.find(std::string(name));
  if (set != topic.config.end()) return set->second;
  const ConfigInfo* config = find_topic_config(name);
  INVARIANT(config, "no config '{}'", name);
  return std::string(config->default_value);
}

std::int64_t number_of(const TopicInfo& topic, std::string_view name) {
  const auto number = parse_number(value_of(topic, name));
  INVARIANT(number, "config '{}' was not checked", name);
  return *number;
}

// -1 is none.
std::optional<std::uint64_t> bound_of(const TopicInfo& topic, std::string_view name) {
  const std::int64_t number = number_of(topic, name);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

}  // namespace

std::span<const ConfigInfo> topic_configs() {
  return kConfigs;
}

const ConfigInfo* find_topic_config(std::string_view name) {
  const auto found = std::ranges::find(kConfigs, name, &ConfigInfo::name);
  return found == kConfigs.end() ? nullptr : &*found;
}

Result<void> check_topic_config(const std::string& name, const std::string& value) {
  const ConfigInfo* config = find_topic_config(name);
  if (!config) return no_config(name);
  const Rule& rule = kRules[static_cast<std::size_t>(config - kConfigs.data())];
  if (!rule.word.empty()) {
    if (value == rule.word || (!rule.other_word.empty() && value == rule.other_word)) return {};
    const std::string or_other =
        rule.other_word.empty() ? "" : fmt::format(" or '{}'", rule.other_word);
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is '{}'{}, not '{}'", name, rule.word, or_other, value));
  }
  if (rule.names) return check_names(name, value);
  const auto number = parse_number(value);
  if (!number || *number < rule.min || *number > rule.max) {
    return fail(Errc::kInvalidArgument, fmt::format("{} is a number from {} to {}, not '{}'", name,
                                                    rule.min, rule.max, value));
  }
  return {};
}

TopicSettings topic_settings(const TopicInfo& topic) {
  TopicSettings settings;
  settings.retention_ms = bound_of(topic, "retention.ms");
  settings.retention_bytes = bound_of(topic, "retention.bytes");
  settings.max_message_bytes = static_cast<std::uint64_t>(number_of(topic, "max.message.bytes"));
  settings.log_append_time = value_of(topic, "message.timestamp.type") == "LogAppendTime";
  return settings;
}

queue::PartitionConfig partition_config(const TopicInfo& topic) {
  queue::PartitionConfig config;
  config.retention_ms = bound_of(topic, "retention.ms");
  config.retention_bytes = bound_of(topic, "retention.bytes");
  config.count_max = static_cast<std::uint64_t>(number_of(topic, "moraine.max.messages"));
  config.bytes_max = static_cast<std::uint64_t>(number_of(topic, "moraine.max.bytes"));
  config.write_bytes_per_second =
      static_cast<std::uint64_t>(number_of(topic, "moraine.write.quota"));
  for (const auto& [name, consumer] : topic.consumers) {
    if (consumer.important) config.important_consumers.push_back(name);
  }
  for (std::string& name : split_names(value_of(topic, "moraine.consumers.important"))) {
    if (!topic.consumers.contains(name) || !topic.consumers.at(name).important) {
      config.important_consumers.push_back(std::move(name));
    }
  }
  return config;
}

}  // namespace moraine
