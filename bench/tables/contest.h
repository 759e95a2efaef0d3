// How both sides are measured: in turns, on threads; and how the results become lines of the
// report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "bench/blob_bench.h"
#include "bench/measure.h"

namespace moraine::bench {

inline constexpr const char* kPeerName = "RocksDB 7.8";

// One round of one side.
using Side = std::function<Result<Round>()>;

struct Contest {
  Rounds ours;
  Rounds peer;
};

// Ours, peer, ours, peer, ...; the first turn of each warms it up and does not count.
Result<Contest> take_turns(int rounds, const Side& ours, const Side& peer);

// Calls `work` with 0, 1, ... on a thread each; returns the first failure, when all have ended.
Result<void> on_threads(std::uint32_t threads,
                        const std::function<Result<void>(std::uint32_t)>& work);

// More is better: the ratio must reach `goal`.
void add_faster(Report& report, const std::string& name, double ours, const std::string& unit,
                double peer, std::optional<double> goal);
// Less is better: the value must be at most `times` the peer's.
void add_smaller(Report& report, const std::string& name, double ours, const std::string& unit,
                 double peer, std::optional<double> times);

// Operations per second of both, with a goal on their ratio.
void add_rate(Report& report, const std::string& name, const Contest& contest, double goal);

}  // namespace moraine::bench
