// How one lane and two are compared: in turns, with the busy share of each lane and the CPU time of
// an operation beside the line.
//
// Tests      lane_contest_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/blob_bench.h"
#include "bench/measure.h"

namespace moraine::bench {

inline constexpr std::uint32_t kManyLanes = 2;
// Of one tablet or partition: more lanes may cost 5 %.
inline constexpr double kGoalOneTablet = 0.95;

inline int lane_rounds(const Setting& setting) {
  return setting.quick ? 3 : 5;
}
inline double lane_seconds(const Setting& setting) {
  return setting.quick ? 0.5 : 2;
}

// Seconds that each lane was not waiting, by its name; empty: the metrics do not say.
using LaneBusy = std::map<std::string, double>;
LaneBusy lane_busy(std::string_view metrics);

// "0: 97 %, 1: 95 %" of the time; "-" when unknown.
std::string print_shares(const LaneBusy& busy, double seconds);

// What is measured, on a given number of lanes.
struct LaneSide {
  std::function<Result<Round>()> round;
  std::function<Result<std::string>()> metrics;  // In the Prometheus format.
};

struct LaneLine {
  std::string name;
  std::string unit;
  double goal = 0;      // Ratio of kManyLanes to one.
  bool client = false;  // This process is only the client: its CPU time is printed beside.
};

// The sides take turns; the first turn of each does not count.
Result<void> compare_lanes(const Setting& setting, const LaneLine& line, const LaneSide& one,
                           const LaneSide& many);

}  // namespace moraine::bench
