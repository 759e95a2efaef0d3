#include "scheme/topic_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "scheme/topic_config_table.h"

namespace moraine {
namespace {

using config_table::kConfigs;
using config_table::kEntries;

// Longer names are similar to none.
constexpr std::size_t kNameBytesCompared = 80;

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Splits at commas; the empty text has no items.
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

std::unexpected<Error> wrong_value(const std::string& name, std::string_view is,
                                   const std::string& value) {
  return fail(Errc::kInvalidArgument, fmt::format("{} is {}, not '{}'", name, is, value));
}

bool is_word_of(std::string_view words, std::string_view word) {
  return std::ranges::count(split_names(words), word) > 0;
}

Result<void> check_words(const std::string& name, const ConfigRule& rule,
                         const std::string& value) {
  const bool list = find_topic_config(name)->type == ConfigType::kList;
  const std::vector<std::string> found =
      list ? split_names(value) : std::vector<std::string>{value};
  const bool all_known = std::ranges::all_of(
      found, [&rule](const std::string& word) { return is_word_of(rule.words, word); });
  if (!found.empty() && all_known) return {};
  std::vector<std::string> quoted;
  for (const std::string& word : split_names(rule.words)) quoted.push_back("'" + word + "'");
  return wrong_value(name, fmt::format("{}", fmt::join(quoted, " or ")), value);
}

bool digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> check_replicas(const std::string& name, const std::string& value) {
  if (value == "*") return {};
  const bool pairs = std::ranges::all_of(split_names(value), [](const std::string& pair) {
    const std::size_t colon = pair.find(':');
    return colon != std::string::npos && digits(pair.substr(0, colon)) &&
           digits(pair.substr(colon + 1));
  });
  if (pairs && value.size() <= kConfigTextBytesMax) return {};
  return wrong_value(
      name, fmt::format("* or a list of partition:broker of at most {} bytes", kConfigTextBytesMax),
      value.substr(0, kConfigTextBytesMax));
}

// "2.8", "0.10.0", "3.0-IV1".
Result<void> check_release(const std::string& name, const std::string& value) {
  constexpr std::size_t kReleaseBytesMax = 32;
  const std::string numbers = value.substr(0, value.find("-IV"));
  const bool has_suffix = numbers.size() < value.size();
  bool dotted = digits(numbers.substr(0, 1)) && digits(numbers.substr(numbers.size() - 1));
  for (const char c : numbers) dotted &= c == '.' || (c >= '0' && c <= '9');
  const bool suffix_fits = !has_suffix || digits(value.substr(numbers.size() + 3));
  if (!numbers.empty() && dotted && suffix_fits && value.size() <= kReleaseBytesMax) return {};
  return wrong_value(name, "a version of Kafka such as 2.8 or 3.0-IV1", value);
}

Result<void> check_number(const std::string& name, const ConfigRule& rule,
                          const std::string& value) {
  const auto number = parse_number(value);
  if (number && *number >= rule.min && *number <= rule.max) return {};
  return wrong_value(name, fmt::format("a number from {} to {}", rule.min, rule.max), value);
}

Result<void> check_fraction(const std::string& name, const std::string& value) {
  double number = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  if (whole && number >= 0 && number <= 1) return {};
  return wrong_value(name, "a number from 0 to 1", value);
}

Result<void> check_form(const std::string& name, const ConfigRule& rule, const std::string& value) {
  switch (rule.form) {
    case ConfigForm::kNumber: return check_number(name, rule, value);
    case ConfigForm::kFraction: return check_fraction(name, value);
    case ConfigForm::kFlag:
      if (value == "true" || value == "false") return {};
      return wrong_value(name, "'true' or 'false'", value);
    case ConfigForm::kWord: return check_words(name, rule, value);
    case ConfigForm::kNames: return check_names(name, value);
    case ConfigForm::kReplicas: return check_replicas(name, value);
    case ConfigForm::kRelease: return check_release(name, value);
  }
  return {};
}

// Requires: a value of the config's form.
Result<void> check_served(const std::string& name, const ConfigRule& rule,
                          const std::string& value) {
  if (rule.why_not.empty()) return {};
  const bool served = rule.form == ConfigForm::kNumber ? *parse_number(value) <= rule.served_max
                                                       : value == rule.served;
  if (served) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{}={}: {}", name, value, rule.why_not));
}

const ConfigRule& rule_of(const ConfigInfo& config) {
  return kEntries[static_cast<std::size_t>(&config - kConfigs.data())].rule;
}

// Characters to insert, delete or replace.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The config that was probably meant; empty: none is similar.
std::string_view nearest_config(std::string_view name) {
  if (name.size() > kNameBytesCompared) return "";
  std::string_view nearest;
  std::size_t least = name.size() / 2;
  for (const ConfigInfo& config : kConfigs) {
    if (name.size() > 2 && config.name.starts_with(name)) return config.name;
    const std::size_t distance = edit_distance(name, config.name);
    if (distance > least || (distance == least && !nearest.empty())) continue;
    least = distance;
    nearest = config.name;
  }
  return nearest;
}

std::unexpected<Error> no_config(const std::string& name) {
  const std::string_view nearest = nearest_config(name);
  return fail(
      Errc::kInvalidArgument,
      fmt::format("no config '{}'{}{}{}; moraine topic create --help lists them", name,
                  nearest.empty() ? "" : "; is it '", nearest, nearest.empty() ? "" : "'?"));
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

// -1 is no limit.
std::optional<std::uint64_t> bound_of(const TopicInfo& topic, std::string_view name) {
  const std::int64_t number = number_of(topic, name);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

TopicCompression compression_of(std::string_view word) {
  if (word == "uncompressed") return TopicCompression::kNone;
  if (word == "gzip") return TopicCompression::kGzip;
  if (word == "snappy") return TopicCompression::kSnappy;
  if (word == "lz4") return TopicCompression::kLz4;
  if (word == "zstd") return TopicCompression::kZstd;
  return TopicCompression::kProducer;
}

// Only if it is set: the defaults are those of the codecs.
std::optional<int> level_of(const TopicInfo& topic, TopicCompression compression) {
  std::string_view name;
  if (compression == TopicCompression::kGzip) name = "compression.gzip.level";
  if (compression == TopicCompression::kLz4) name = "compression.lz4.level";
  if (compression == TopicCompression::kZstd) name = "compression.zstd.level";
  if (name.empty() || !topic.config.contains(std::string(name))) return std::nullopt;
  return static_cast<int>(number_of(topic, name));
}

// The value of `name`, or if that is not set the bound of both directions.
std::int64_t time_bound_of(const TopicInfo& topic, const std::string& name) {
  return number_of(topic,
                   topic.config.contains(name) ? name : "message.timestamp.difference.max.ms");
}

TopicSettings settings_of(const TopicInfo& topic) {
  TopicSettings settings;
  settings.retention_ms = bound_of(topic, "retention.ms");
  settings.retention_bytes = bound_of(topic, "retention.bytes");
  settings.max_message_bytes = static_cast<std::uint64_t>(number_of(topic, "max.message.bytes"));
  settings.log_append_time = value_of(topic, "message.timestamp.type") == "LogAppendTime";
  settings.before_max_ms = time_bound_of(topic, "message.timestamp.before.max.ms");
  settings.after_max_ms = time_bound_of(topic, "message.timestamp.after.max.ms");
  settings.compression = compression_of(value_of(topic, "compression.type"));
  settings.compression_level = level_of(topic, settings.compression);
  return settings;
}

}  // namespace

std::span<const ConfigInfo> topic_configs() {
  return kConfigs;
}

const ConfigInfo* find_topic_config(std::string_view name) {
  const auto found = std::ranges::lower_bound(kConfigs, name, {}, &ConfigInfo::name);
  return found == kConfigs.end() || found->name != name ? nullptr : &*found;
}

Result<void> check_stored_config(const std::string& name, const std::string& value) {
  const ConfigInfo* config = find_topic_config(name);
  if (!config) return no_config(name);
  return check_form(name, rule_of(*config), value);
}

Result<void> check_topic_config(const std::string& name, const std::string& value) {
  TRY_VOID(check_stored_config(name, value));
  return check_served(name, rule_of(*find_topic_config(name)), value);
}

TopicSettings topic_settings(const TopicInfo& topic) {
  static const TopicSettings kDefaults = settings_of({});
  return topic.config.empty() ? kDefaults : settings_of(topic);
}

queue::PartitionConfig partition_config(const TopicInfo& topic) {
  queue::PartitionConfig config;
  config.retention_ms = bound_of(topic, "retention.ms");
  config.retention_bytes = bound_of(topic, "retention.bytes");
  config.count_max = static_cast<std::uint64_t>(number_of(topic, "moraine.max.messages"));
  config.bytes_max = static_cast<std::uint64_t>(number_of(topic, "moraine.max.bytes"));
  config.write_bytes_per_second =
      static_cast<std::uint64_t>(number_of(topic, "moraine.write.quota"));
  config.low_watermark = static_cast<std::uint64_t>(number_of(topic, "moraine.low.watermark"));
  config.source_lifetime_ms =
      static_cast<std::uint64_t>(number_of(topic, "moraine.sources.lifetime.ms"));
  config.sources_max = static_cast<std::uint64_t>(number_of(topic, "moraine.sources.max"));
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

std::uint32_t partitions_per_tablet(const TopicInfo& topic, std::uint32_t partitions,
                                    std::size_t lanes) {
  constexpr const char* kName = "moraine.partitions.per.tablet";
  const auto most = static_cast<std::uint32_t>(number_of(topic, kName));
  if (topic.config.contains(kName)) return most;
  const std::size_t for_each_lane = (partitions + lanes - 1) / lanes;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(for_each_lane, 1, most));
}

}  // namespace moraine
