// Report: the lines of a run, as a printed table and as JSON.
//
//   JSON = a list of objects: bench, name, value, unit, peer, peer_value, ratio, goal, holds.
//          Missing fields of a line are null; goal reads like "ratio >= 0.85".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"

namespace moraine::bench {

struct Goal {
  enum class Of : std::uint8_t { kRatioAtLeast, kValueAtMost };
  Of of = Of::kRatioAtLeast;
  double limit = 0;
};

struct Line {
  std::string bench;
  std::string name;
  double value = 0;
  std::string unit;
  std::string peer = {};                  // What it is compared with; empty: nothing.
  std::optional<double> peer_value = {};  // In the same unit.
  std::optional<Goal> goal = {};
  double scale = 1;  // ratio = value / (peer_value * scale).

  std::optional<double> ratio() const;
  bool holds() const;
};

class Report {
 public:
  // Prints the line immediately.
  void add(Line line);
  // A detail of a line; printed indented below the lines, not in the JSON.
  void note(std::string_view text);
  void note(std::string_view contender, const Rounds& rounds);

  std::string table() const;
  std::string json() const;

 private:
  std::vector<Line> lines_;
};

}  // namespace moraine::bench
