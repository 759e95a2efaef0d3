// Arguments of topic commands: names, numbers, configs, consumers, positions, separators.
//
// Promise    Pure. kInvalidArgument names the argument and says what is expected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "queue/kafka/compression.h"

namespace moraine::app {

// The name of a topic: check_topic_name(), with detailed errors.
Result<void> check_name_word(const std::string& word);

// Digits, optionally after a '-'; within the bounds.
Result<std::int64_t> parse_whole(std::string_view word, std::int64_t min, std::int64_t max);

// Known configs with valid values; none both set and unset.
Result<void> check_configs(const std::map<std::string, std::string>& configs,
                           const std::vector<std::string>& unset);

// "name=value"; a value may be empty and may have '='.
Result<std::map<std::string, std::string>> parse_configs(const std::vector<std::string>& words);

struct ConsumerWord {
  std::string name;
  bool important = false;
  bool operator==(const ConsumerWord&) const = default;
};
// "name" or "name:important".
Result<ConsumerWord> parse_consumer(std::string_view word);

// Where reading begins.
struct FromStart {
  bool operator==(const FromStart&) const = default;
};
struct FromEnd {
  bool operator==(const FromEnd&) const = default;
};
struct FromOffset {
  std::int64_t offset = 0;
  bool operator==(const FromOffset&) const = default;
};
struct FromTime {
  std::int64_t milliseconds = 0;  // Since 1970.
  bool operator==(const FromTime&) const = default;
};
using Position = std::variant<FromStart, FromEnd, FromOffset, FromTime>;

// "start", "end", "17" (an offset), "1700000000000ms", "2024-05-01T10:00:00Z".
Result<Position> parse_position(std::string_view word);

// RFC 3339 with seconds, any fraction, and Z or +HH:MM; a space may replace the T.
Result<std::int64_t> parse_time_ms(std::string_view word);
// "2024-05-01T10:00:00.123Z"; the number if no such date exists.
std::string time_text(std::int64_t milliseconds);

// With the escapes \t, \n, \0 and \\. Not empty.
Result<std::string> parse_separator(std::string_view word);

// "none", "gzip", "snappy", "lz4", "zstd".
Result<kafka::Compression> parse_codec(std::string_view word);

}  // namespace moraine::app
