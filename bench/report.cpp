#include "bench/report.h"

#include <fmt/format.h>

#include <cstdio>

namespace moraine::bench {
namespace {

std::string number(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string print(const Goal& goal) {
  const bool ratio = goal.of == Goal::Of::kRatioAtLeast;
  return fmt::format("{} {} {:g}", ratio ? "ratio" : "value", ratio ? ">=" : "<=", goal.limit);
}

std::string row(const Line& line) {
  const auto ratio = line.ratio();
  return fmt::format(
      "{:<34} {:>9} {:<9} {:<28} {:>9}  {:>6}  {:<13} {}\n", line.bench + "/" + line.name,
      number(line.value), line.unit, line.peer.empty() ? "-" : line.peer,
      line.peer_value ? number(*line.peer_value) : "-", ratio ? fmt::format("{:.2f}", *ratio) : "-",
      line.goal ? print(*line.goal) : "-",
      !line.goal     ? ""
      : line.holds() ? "holds"
                     : "FAILS");
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string or_null(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "null";
}

}  // namespace

std::optional<double> Line::ratio() const {
  if (!peer_value || *peer_value <= 0) return std::nullopt;
  return value / (*peer_value * scale);
}

bool Line::holds() const {
  if (!goal) return true;
  if (goal->of == Goal::Of::kValueAtMost) return value <= goal->limit;
  const auto reached = ratio();
  return reached && *reached >= goal->limit;
}

void Report::add(Line line) {
  fmt::print("{}", row(line));
  std::fflush(stdout);
  lines_.push_back(std::move(line));
}

void Report::note(std::string_view text) {
  fmt::print("    {}\n", text);
  std::fflush(stdout);
}

void Report::note(std::string_view contender, const Rounds& rounds) {
  note(fmt::format("{}: {:.0f} MB/s, {:.0f} ops/s, p50 {:.0f} us, p99 {:.0f} us, cpu {:.1f} us/op",
                   contender, rounds.megabytes_per_second(), rounds.operations_per_second(),
                   rounds.latency(0.5), rounds.latency(0.99), rounds.cpu_microseconds()));
}

std::string Report::table() const {
  std::string text = fmt::format("{:<34} {:>9} {:<9} {:<28} {:>9}  {:>6}  {:<13}\n", "line",
                                 "value", "unit", "peer", "peer", "ratio", "goal");
  std::size_t goals = 0;
  std::size_t held = 0;
  for (const Line& line : lines_) {
    text += row(line);
    if (!line.goal) continue;
    ++goals;
    if (line.holds()) ++held;
  }
  return text + fmt::format("{} of {} goals hold\n", held, goals);
}

std::string Report::json() const {
  std::string text = "[";
  for (const Line& line : lines_) {
    text += text.size() == 1 ? "\n" : ",\n";
    text += fmt::format(
        "  {{\"bench\": {}, \"name\": {}, \"value\": {:.6g}, \"unit\": {}, \"peer\": {}, "
        "\"peer_value\": {}, \"ratio\": {}, \"goal\": {}, \"holds\": {}}}",
        quoted(line.bench), quoted(line.name), line.value, quoted(line.unit),
        line.peer.empty() ? "null" : quoted(line.peer), or_null(line.peer_value),
        or_null(line.ratio()), line.goal ? quoted(print(*line.goal)) : "null", line.holds());
  }
  return text + "\n]\n";
}

}  // namespace moraine::bench
