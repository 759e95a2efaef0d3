// Functions of times in time zones, by the time zone database of the system.

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "query/function/call.h"

namespace moraine::query {
namespace {

constexpr std::size_t kZoneNameMax = 64;
constexpr std::string_view kZoneFolder = "/usr/share/zoneinfo/";

// Names such as "Area/City": not absolute, without "..", so that only files of the database are
// read. The library keeps each zone that it has loaded, so only names of files are passed to it.
bool may_be_zone(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-' || c == '/';
  };
  if (name.empty() || name.size() > kZoneNameMax || name[0] == '/') return false;
  if (!std::ranges::all_of(name, fits)) return false;
  struct stat found {};
  return ::stat(std::string(kZoneFolder).append(name).c_str(), &found) == 0 &&
         S_ISREG(found.st_mode);
}

Result<absl::TimeZone> load_zone(std::string_view name) {
  if (name == "UTC") return absl::UTCTimeZone();
  absl::TimeZone zone;
  if (!may_be_zone(name) || !absl::LoadTimeZone(std::string(name), &zone)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("there is no time zone \"{}\"", name.substr(0, kZoneNameMax)));
  }
  return zone;
}

// Rows of one query name few zones, as a rule one.
Result<absl::TimeZone> find_zone(std::string_view name) {
  thread_local std::string last_name;
  thread_local absl::TimeZone last_zone;
  if (name == last_name && !name.empty()) return last_zone;
  TRY(const absl::TimeZone zone, load_zone(name));
  last_name = name;
  last_zone = zone;
  return zone;
}

absl::CivilDay first_day(Function function, absl::CivilDay day) {
  switch (function) {
    case Function::kFloorWeekTz: return absl::PrevWeekday(day + 1, absl::Weekday::monday);
    case Function::kFloorMonthTz: return absl::CivilDay(absl::CivilMonth(day));
    case Function::kFloorQuarterTz:
      return absl::CivilDay(day.year(), (day.month() - 1) / 3 * 3 + 1, 1);
    case Function::kFloorYearTz: return absl::CivilDay(absl::CivilYear(day));
    default: return day;
  }
}

}  // namespace

Result<Value> floor_time_in_zone(Function function, std::int64_t seconds, std::string_view name) {
  TRY(const absl::TimeZone zone, find_zone(name));
  if (seconds > kSecondsMax || seconds < -kSecondsMax) return seconds;
  const absl::TimeZone::CivilInfo local = zone.At(absl::FromUnixSeconds(seconds));
  if (function == Function::kFloorHourTz) {
    // With the offset of this time: an hour may come twice.
    return seconds - (local.cs.minute() * std::int64_t{60} + local.cs.second());
  }
  const absl::CivilDay day = first_day(function, absl::CivilDay(local.cs));
  // A day that begins twice begins at the first of both times; one whose midnight is left out
  // begins where the clock goes on.
  const absl::TimeZone::TimeInfo begin = zone.At(absl::CivilSecond(day));
  const bool skipped = begin.kind == absl::TimeZone::TimeInfo::SKIPPED;
  return absl::ToUnixSeconds(skipped ? begin.trans : begin.pre);
}

Result<Value> format_time_in_zone(std::int64_t seconds, std::string_view name,
                                  std::string_view format, table::TextMemory& memory) {
  TRY(const absl::TimeZone zone, find_zone(name));
  TRY_VOID(check_formatted_time(seconds));
  const absl::Time time = absl::FromUnixSeconds(seconds);
  std::tm parts = absl::ToTM(time, zone);
  const absl::TimeZone::CivilInfo local = zone.At(time);
  parts.tm_gmtoff = local.offset;
  parts.tm_zone = local.zone_abbr;
  return format_parts(parts, format, memory);
}

}  // namespace moraine::query
