#include "bench/lanes/lane_contest.h"

#include <fmt/format.h>

#include <cstdlib>

namespace moraine::bench {
namespace {

constexpr std::string_view kBusyMetric = "moraine_lane_busy_seconds_total{";
constexpr std::string_view kLaneLabel = "lane=\"";

struct Measured {
  Rounds rounds;
  LaneBusy busy;
  double seconds = 0;
  double own_cpu_seconds = 0;  // Of this process.
  double operations = 0;
};

Result<void> take_turn(const LaneSide& side, bool counts, Measured& measured) {
  TRY(const std::string before, side.metrics());
  const double cpu_before = cpu_seconds();
  const Stopwatch watch;
  TRY(Round round, side.round());
  const double seconds = watch.seconds();
  const double own_cpu = cpu_seconds() - cpu_before;
  TRY(const std::string after, side.metrics());
  if (!counts) return {};
  measured.operations += static_cast<double>(round.operations);
  measured.own_cpu_seconds += own_cpu;
  measured.rounds.add(std::move(round));
  measured.seconds += seconds;
  for (const auto& [lane, busy] : lane_busy(after)) measured.busy[lane] += busy;
  for (const auto& [lane, busy] : lane_busy(before)) measured.busy[lane] -= busy;
  return {};
}

void add_note(Report& report, std::string_view name, const LaneLine& line,
              const Measured& measured) {
  const double client = measured.own_cpu_seconds / measured.operations * 1e6;
  report.note(fmt::format("{}: {:.0f} {}, {:.0f} MB/s, CPU {:.3f} us each{}, lanes busy {}", name,
                          measured.rounds.operations_per_second(), line.unit,
                          measured.rounds.megabytes_per_second(),
                          measured.rounds.cpu_microseconds(),
                          line.client ? fmt::format(" (client: {:.3f})", client) : "",
                          print_shares(measured.busy, measured.seconds)));
}

}  // namespace

LaneBusy lane_busy(std::string_view metrics) {
  LaneBusy busy;
  while (!metrics.empty()) {
    const std::string_view line = metrics.substr(0, metrics.find('\n'));
    metrics.remove_prefix(std::min(metrics.size(), line.size() + 1));
    const std::size_t label = line.find(kLaneLabel);
    const std::size_t value = line.rfind("} ");
    if (!line.starts_with(kBusyMetric) || label == line.npos || value == line.npos) continue;
    const std::size_t name = label + kLaneLabel.size();
    const std::string lane(line.substr(name, line.find('"', name) - name));
    busy[lane] = std::strtod(std::string(line.substr(value + 2)).c_str(), nullptr);
  }
  return busy;
}

std::string print_shares(const LaneBusy& busy, double seconds) {
  std::string text;
  for (const auto& [lane, part] : busy) {
    text += fmt::format("{}{}: {:.0f} %", text.empty() ? "" : ", ", lane, part / seconds * 100);
  }
  return text.empty() ? "-" : text;
}

Result<void> compare_lanes(const Setting& setting, const LaneLine& line, const LaneSide& one,
                           const LaneSide& many) {
  Measured of_one;
  Measured of_many;
  for (int i = 0; i <= lane_rounds(setting); ++i) {
    TRY_VOID(take_turn(one, i > 0, of_one));
    TRY_VOID(take_turn(many, i > 0, of_many));
  }
  Line made{"lanes",   line.name, of_many.rounds.operations_per_second(),
            line.unit, "1 lane",  of_one.rounds.operations_per_second()};
  made.goal = Goal{Goal::Of::kRatioAtLeast, line.goal};
  setting.report.add(std::move(made));
  add_note(setting.report, "1 lane", line, of_one);
  add_note(setting.report, fmt::format("{} lanes", kManyLanes), line, of_many);
  return {};
}

}  // namespace moraine::bench
