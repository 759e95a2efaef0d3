// Structured log: one event a line, a short message and key=value fields.
//
//   log_info("device opened", {{"path", path}, {"segments", count}});
//   -> 2024-05-01T10:00:00.123Z info device opened path=/data/a segments=12
//
// Promise    Times are UTC whatever the zone of the machine. A line is written whole or not at all,
//            with control characters escaped: bytes from outside cannot forge a second line.
//            Nothing is formatted below the current level.
// Threading  Any thread. A sink is called under a lock, one line at a time, and must not log.
// Limits     A line is cut at kLogLineBytesMax and then ends in "...".
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace moraine {

inline constexpr std::size_t kLogLineBytesMax = 4096;

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };

std::string_view to_string(LogLevel level);
Result<LogLevel> parse_log_level(std::string_view text);  // debug, info, warning, error, off

// One key=value. Holds text by reference: it lives as long as the logging statement.
class LogField {
 public:
  LogField(std::string_view key, bool value) : key_(key), value_(value) {}
  LogField(std::string_view key, double value) : key_(key), value_(value) {}
  LogField(std::string_view key, std::signed_integral auto value)
      : key_(key), value_(std::int64_t{value}) {}
  LogField(std::string_view key, std::unsigned_integral auto value)
      : key_(key), value_(std::uint64_t{value}) {}
  LogField(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  LogField(std::string_view key, const std::string& value)
      : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, const char* value) : LogField(key, std::string_view(value)) {}
  LogField(std::string_view key, const Error& error)
      : key_(key), value_(std::in_place_type<std::string>, error.message()) {}

  void append_to(std::string& line) const;

 private:
  std::string_view key_;
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view, std::string> value_;
};

using LogFields = std::initializer_list<LogField>;

void log(LogLevel level, std::string_view message, LogFields fields = {});

inline void log_debug(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kDebug, message, fields);
}
inline void log_info(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kInfo, message, fields);
}
inline void log_warning(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kWarning, message, fields);
}
inline void log_error(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kError, message, fields);
}

// Lines below `level` are dropped; kInfo at start.
void set_log_level(LogLevel level);
LogLevel log_level();

// Receives each line without time and level. An empty sink means standard error.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

// Installs `sink` and returns the previous one.
LogSink exchange_log_sink(LogSink sink);

// Keeps what is logged during its life, in place of standard error; lines past `lines_max` are
// counted and dropped. ScopedLogCapture(0) silences the log.
class ScopedLogCapture {
 public:
  explicit ScopedLogCapture(std::size_t lines_max = 1000);
  ScopedLogCapture(const ScopedLogCapture&) = delete;
  ScopedLogCapture& operator=(const ScopedLogCapture&) = delete;
  ~ScopedLogCapture();

  std::vector<std::string> lines() const;  // Each reads "level message key=value".
  std::size_t dropped() const;

 private:
  mutable std::mutex mutex_;
  std::size_t lines_max_;
  std::vector<std::string> lines_;
  std::size_t dropped_ = 0;
  LogSink previous_;
};

}  // namespace moraine
