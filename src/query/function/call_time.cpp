// Functions of times: seconds since 1970 in UTC.

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "query/function/call.h"

namespace moraine::query {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::sys_days;
using std::chrono::year_month_day;
using Seconds = std::chrono::sys_seconds;

constexpr std::int64_t kHour = 3'600;
constexpr std::size_t kFormattedMax = 4'096;

std::int64_t seconds_of(sys_days day) {
  return Seconds(day).time_since_epoch().count();
}

}  // namespace

std::int64_t floor_time(Function function, std::int64_t seconds) {
  if (seconds > kSecondsMax || seconds < -kSecondsMax) return seconds;
  const Seconds time{std::chrono::seconds(seconds)};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const auto month = static_cast<unsigned>(date.month());
  switch (function) {
    case Function::kFloorHour:
      return floor<std::chrono::hours>(time).time_since_epoch().count() * kHour;
    case Function::kFloorWeek: {
      const std::chrono::weekday weekday(day);
      return seconds_of(day - (weekday - std::chrono::Monday));
    }
    case Function::kFloorMonth: return seconds_of(date.year() / date.month() / 1);
    case Function::kFloorQuarter:
      return seconds_of(date.year() / std::chrono::month((month - 1) / 3 * 3 + 1) / 1);
    case Function::kFloorYear: return seconds_of(date.year() / 1 / 1);
    default: return seconds_of(day);
  }
}

Result<void> check_formatted_time(std::int64_t seconds) {
  if (seconds <= kSecondsMax && seconds >= -kSecondsMax) return {};
  return fail(Errc::kInvalidArgument, "format_timestamp: the time is out of range");
}

Result<Value> format_time(std::int64_t seconds, std::string_view format,
                          table::TextMemory& memory) {
  TRY_VOID(check_formatted_time(seconds));
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return format_parts(parts, format, memory);
}

Result<Value> format_parts(const std::tm& parts, std::string_view format,
                           table::TextMemory& memory) {
  if (format.empty()) return Value(std::string_view());
  // A text in front tells an empty result from one that does not fit.
  const std::string prefixed = " " + std::string(format);
  std::string out(kFormattedMax, '\0');
  const std::size_t size = std::strftime(out.data(), out.size(), prefixed.c_str(), &parts);
  if (size == 0) return fail(Errc::kInvalidArgument, "format_timestamp: the result is too long");
  return memory.keep(out.substr(1, size - 1));
}

}  // namespace moraine::query
