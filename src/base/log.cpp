#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>

namespace moraine {
namespace {

constexpr std::string_view kCutMark = "...";

std::atomic<LogLevel> current_level{LogLevel::kInfo};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: break;
  }
  return spdlog::level::off;
}

// Where lines go. Never destroyed: threads may log while the program ends.
struct Output {
  std::mutex mutex;
  LogSink sink;
  spdlog::logger standard_error{"moraine", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  Output() {
    standard_error.set_level(spdlog::level::trace);
    standard_error.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    standard_error.flush_on(spdlog::level::trace);
  }
};

Output& output() {
  static Output& instance = *new Output;
  return instance;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::ranges::any_of(text, [](char c) {
           return is_control(c) || c == ' ' || c == '"' || c == '=' || c == '\\';
         });
}

void append_escaped(std::string& line, std::string_view text, bool quoted) {
  for (const char c : text) {
    if (is_control(c)) {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", static_cast<unsigned char>(c));
    } else if (quoted && (c == '"' || c == '\\')) {
      line += '\\';
      line += c;
    } else {
      line += c;
    }
  }
}

void append_text(std::string& line, std::string_view text) {
  const bool quoted = needs_quotes(text);
  if (quoted) line += '"';
  append_escaped(line, text.substr(0, kLogLineBytesMax), quoted);
  if (quoted) line += '"';
}

std::string format_line(std::string_view message, LogFields fields) {
  std::string line;
  append_escaped(line, message.substr(0, kLogLineBytesMax), false);
  for (const LogField& field : fields) {
    if (line.size() > kLogLineBytesMax) break;
    line += ' ';
    field.append_to(line);
  }
  if (line.size() > kLogLineBytesMax) {
    line.resize(kLogLineBytesMax - kCutMark.size());
    line += kCutMark;
  }
  return line;
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
    case LogLevel::kOff: break;
  }
  return "off";
}

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kOff}) {
    if (text == to_string(level)) return level;
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("log level '{}' is none of debug, info, warning, error, off", text));
}

void LogField::append_to(std::string& line) const {
  line += key_;
  line += '=';
  std::visit(
      [&line](const auto& value) {
        if constexpr (std::convertible_to<decltype(value), std::string_view>) {
          append_text(line, value);
        } else {
          fmt::format_to(std::back_inserter(line), "{}", value);
        }
      },
      value_);
}

void log(LogLevel level, std::string_view message, LogFields fields) {
  if (level < log_level() || level == LogLevel::kOff) return;
  const std::string line = format_line(message, fields);
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  if (out.sink) {
    out.sink(level, line);
  } else {
    out.standard_error.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }
}

void set_log_level(LogLevel level) {
  current_level.store(level, std::memory_order_relaxed);
}

LogLevel log_level() {
  return current_level.load(std::memory_order_relaxed);
}

LogSink exchange_log_sink(LogSink sink) {
  Output& out = output();
  const std::lock_guard lock(out.mutex);
  return std::exchange(out.sink, std::move(sink));
}

ScopedLogCapture::ScopedLogCapture(std::size_t lines_max) : lines_max_(lines_max) {
  previous_ = exchange_log_sink([this](LogLevel level, std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() < lines_max_) {
      lines_.push_back(fmt::format("{} {}", to_string(level), line));
    } else {
      ++dropped_;
    }
  });
}

ScopedLogCapture::~ScopedLogCapture() {
  exchange_log_sink(std::move(previous_));
}

std::vector<std::string> ScopedLogCapture::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::size_t ScopedLogCapture::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace moraine
