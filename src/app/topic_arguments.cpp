#include "app/topic_arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <limits>
#include <optional>

#include "client/topics.h"
#include "scheme/topic_config.h"

namespace moraine::app {
namespace {

constexpr std::string_view kImportant = "important";
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
constexpr std::int64_t kMillisecondsOfDay = 86'400'000;
// The years 0000 to 9999.
constexpr std::int64_t kDaysMin = -719'528;
constexpr std::int64_t kDaysMax = 2'932'896;

std::unexpected<Error> wrong(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parses parts of a fixed form from the front of a text.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  // A number of exactly `digits` digits within bounds; -1 and failed() otherwise.
  int number(std::size_t digits, int min, int max) {
    const std::string_view piece = rest_.substr(0, digits);
    const bool plain =
        piece.size() == digits && piece.find_first_not_of("0123456789") == std::string_view::npos;
    const auto value = plain ? parse_number(piece) : std::nullopt;
    if (!value || *value < min || *value > max) {
      failed_ = true;
      return -1;
    }
    rest_.remove_prefix(digits);
    return static_cast<int>(*value);
  }
  // One of these characters.
  char one_of(std::string_view wanted) {
    if (rest_.empty() || !wanted.contains(rest_.front())) {
      failed_ = true;
      return '\0';
    }
    const char found = rest_.front();
    rest_.remove_prefix(1);
    return found;
  }
  // ".123456" in milliseconds, cut; 0 when there is none.
  int fraction() {
    if (!rest_.starts_with('.')) return 0;
    rest_.remove_prefix(1);
    const std::size_t length = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (length == 0) failed_ = true;
    std::string digits(rest_.substr(0, std::min<std::size_t>(length, 3)));
    digits.resize(3, '0');
    rest_.remove_prefix(length);
    return static_cast<int>(parse_number(digits).value_or(0));
  }
  bool failed() const { return failed_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// Minutes east of Greenwich.
int zone(Pieces& pieces) {
  const char sign = pieces.one_of("Zz+-");
  if (sign != '+' && sign != '-') return 0;
  const int hours = pieces.number(2, 0, 23);
  pieces.one_of(":");
  const int minutes = pieces.number(2, 0, 59);
  return (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

Result<void> check_name_word(const std::string& word) {
  if (word.empty()) return wrong("a topic's name is empty; write it as orders or team/orders");
  if (word.starts_with('/') || word.ends_with('/') || word.contains("//")) {
    return wrong(fmt::format(
        "'{}': a name is missing beside a '/', which stands between the names of folders and of "
        "the topic, as in team/orders",
        word));
  }
  if (word.find_first_not_of(kNameCharacters) != std::string::npos) {
    return wrong(fmt::format(
        "'{}': names of topics have letters, digits, '.', '_' and '-', with '/' between folders",
        word));
  }
  auto checked = check_topic_name(word);
  if (!checked) return wrong(fmt::format("topic '{}': {}", word, checked.error().context));
  return {};
}

Result<std::int64_t> parse_whole(std::string_view word, std::int64_t min, std::int64_t max) {
  const auto number = parse_number(word);
  const std::size_t sign = word.starts_with('-') ? 1 : 0;
  const bool digits =
      word.size() > sign && word.find_first_not_of("0123456789", sign) == std::string_view::npos;
  if (!digits) return wrong(fmt::format("'{}' is no whole number", word));
  if (number && *number >= min && *number <= max) return *number;
  if (max == std::numeric_limits<std::int64_t>::max()) {
    if (sign == 0) return wrong(fmt::format("{} is too large", word));
    return wrong(fmt::format("{} is not {} or more", word, min));
  }
  return wrong(fmt::format("{} is not from {} to {}", word, min, max));
}

Result<void> check_configs(const std::map<std::string, std::string>& configs,
                           const std::vector<std::string>& unset) {
  for (const auto& [name, value] : configs) {
    TRY_VOID(check_topic_config(name, value));
  }
  for (const std::string& name : unset) {
    if (configs.contains(name)) return wrong(fmt::format("config {} is both set and unset", name));
    // For an unknown name every value is refused.
    if (!find_topic_config(name)) return check_topic_config(name, "");
  }
  return {};
}

Result<std::map<std::string, std::string>> parse_configs(const std::vector<std::string>& words) {
  std::map<std::string, std::string> configs;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong(fmt::format("config '{}': write NAME=VALUE", word));
    }
    if (!configs.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      return wrong(fmt::format("config '{}' is given twice", word.substr(0, equals)));
    }
  }
  return configs;
}

Result<ConsumerWord> parse_consumer(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  const bool has_kind = colon != std::string_view::npos;
  if (name.empty() || name.contains(',') || (has_kind && word.substr(colon + 1) != kImportant)) {
    return wrong(
        fmt::format("consumer '{}': write NAME or NAME:important, without commas in it", word));
  }
  return ConsumerWord{std::string(name), has_kind};
}

Result<std::int64_t> parse_time_ms(std::string_view word) {
  Pieces pieces(word);
  const int year = pieces.number(4, 0, 9999);
  pieces.one_of("-");
  const int month = pieces.number(2, 1, 12);
  pieces.one_of("-");
  const int day = pieces.number(2, 1, 31);
  pieces.one_of("Tt ");
  const int hour = pieces.number(2, 0, 23);
  pieces.one_of(":");
  const int minute = pieces.number(2, 0, 59);
  pieces.one_of(":");
  const int second = pieces.number(2, 0, 60);  // With leap seconds.
  const int fraction = pieces.fraction();
  const int east = zone(pieces);
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (pieces.failed() || !pieces.empty() || !date.ok()) {
    return wrong(fmt::format("time '{}': write it as 2024-05-01T10:00:00Z", word));
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute - east) * 60 + second;
  return seconds * 1000 + fraction;
}

std::string time_text(std::int64_t milliseconds) {
  std::int64_t days = milliseconds / kMillisecondsOfDay;
  std::int64_t rest = milliseconds % kMillisecondsOfDay;
  if (rest < 0) {
    rest += kMillisecondsOfDay;
    --days;
  }
  if (days < kDaysMin || days > kDaysMax) return std::to_string(milliseconds);
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     rest / 3'600'000, rest / 60'000 % 60, rest / 1000 % 60, rest % 1000);
}

Result<Position> parse_position(std::string_view word) {
  if (word == "start") return FromStart();
  if (word == "end") return FromEnd();
  if (const auto offset = parse_number(word); offset && *offset >= 0) return FromOffset{*offset};
  if (word.ends_with("ms")) {
    const auto milliseconds = parse_number(word.substr(0, word.size() - 2));
    if (milliseconds && *milliseconds >= 0) return FromTime{*milliseconds};
  }
  const auto time = parse_time_ms(word);
  if (time && *time >= 0) return FromTime{*time};
  return wrong(fmt::format(
      "position '{}': write start, end, an offset as 17, or a time as 2024-05-01T10:00:00Z or "
      "1714557600000ms",
      word));
}

Result<std::string> parse_separator(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\' || i + 1 == word.size()) {
      text += word[i];
      continue;
    }
    switch (word[++i]) {
      case 't': text += '\t'; break;
      case 'n': text += '\n'; break;
      case '0': text += '\0'; break;
      case '\\': text += '\\'; break;
      default: return wrong(fmt::format("separator '{}': only \\t, \\n, \\0 and \\\\ exist", word));
    }
  }
  if (text.empty()) return wrong("a separator has at least one character");
  return text;
}

Result<kafka::Compression> parse_codec(std::string_view word) {
  for (int i = 0; i <= kafka::kCompressionLast; ++i) {
    const auto codec = static_cast<kafka::Compression>(i);
    if (to_string(codec) == word) return codec;
  }
  return wrong(fmt::format("codec '{}' is none of none, gzip, snappy, lz4, zstd", word));
}

}  // namespace moraine::app
