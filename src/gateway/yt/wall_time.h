// Times as YTsaurus writes them: "2024-05-01T10:20:30.123000Z".
//
// Tests      door_test.cpp.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace moraine::yt {

inline std::string wall_time(std::chrono::milliseconds since_1970) {
  using std::chrono::floor;
  const auto day = floor<std::chrono::days>(since_1970);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss<std::chrono::milliseconds> time(since_1970 - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}000Z", int{date.year()},
                     unsigned{date.month()}, unsigned{date.day()}, time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace moraine::yt
