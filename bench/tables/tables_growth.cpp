// The same lookups on an increasing number of rows, all in memory; then memory at rest and the time
// to open.

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "bench/heap_growth.h"
#include "bench/tables/contest.h"
#include "bench/tables/growth_picture.h"
#include "bench/tables/tables_bench.h"
#include "bench/tables/tables_lookup.h"

namespace moraine::bench {
namespace {

constexpr std::array<std::uint64_t, 4> kSteps{1'000'000, 3'000'000, 10'000'000, 30'000'000};
constexpr std::array<std::uint64_t, 3> kStepsQuick{300'000, 1'000'000, 3'000'000};
constexpr std::size_t kCacheBytesPerRow = 200;
constexpr double kMiB = 1u << 20;

struct AtRest {
  double open_seconds = 0;
  double mib = 0;
};

template <class Side>
Result<AtRest> reopen(Side& side) {
  AtRest rest;
  side.close();
  const HeapGrowth growth;
  TRY(rest.open_seconds, side.reopen());
  rest.mib = growth.bytes() / kMiB;
  return rest;
}

Result<GrowthPoint> measure(const Setting& setting, const Pair& pair, std::uint64_t rows) {
  LookupPlan plan;
  plan.among = {0, rows};
  plan.count = setting.quick ? 200'000 : 500'000;
  TRY_VOID(warm(pair, rows));
  TRY(const Contest done, take_turns(
                              3,
                              [&] {
                                ++plan.seed;
                                return lookup_ours(*pair.ours, plan);
                              },
                              [&] { return lookup_rocks(*pair.peer, plan); }));
  return GrowthPoint{rows, done.ours.operations_per_second(), done.peer.operations_per_second()};
}

std::string short_count(std::uint64_t rows) {
  return rows % 1'000'000 == 0 ? fmt::format("{}m", rows / 1'000'000)
                               : fmt::format("{}k", rows / 1'000);
}

Result<void> write_picture(const Setting& setting, const std::vector<GrowthPoint>& points) {
  const auto path = std::filesystem::canonical("/proc/self/exe").parent_path() / "bench-growth.svg";
  std::ofstream file(path);
  file << growth_picture(points);
  file.close();
  if (!file) return fail(Errc::kIo, "cannot write " + path.string());
  setting.report.note(fmt::format("drawn in {}", path.string()));
  return {};
}

}  // namespace

Result<void> bench_tables_growth(const Setting& setting) {
  const std::span<const std::uint64_t> steps =
      setting.quick ? std::span<const std::uint64_t>(kStepsQuick) : kSteps;
  PairOptions options;
  options.name = "growth";
  options.rows = steps.back();
  options.cache_bytes = steps.back() * kCacheBytesPerRow;
  TRY(const Pair pair, open_pair(setting, options));
  std::vector<GrowthPoint> points;
  std::uint64_t loaded = 0;
  for (const std::uint64_t rows : steps) {
    TRY_VOID(pair.load({loaded, rows - loaded}, 0, setting.report));
    loaded = rows;
    TRY(const GrowthPoint point, measure(setting, pair, rows));
    points.push_back(point);
    add_faster(setting.report, "growth_lookup_" + short_count(rows), point.ours, "ops/s",
               point.peer, std::nullopt);
  }
  TRY_VOID(write_picture(setting, points));
  TRY(const AtRest ours, reopen(*pair.ours));
  TRY(const AtRest peer, reopen(*pair.peer));
  add_smaller(setting.report, "memory_at_rest", ours.mib, "MiB", peer.mib, std::nullopt);
  add_smaller(setting.report, "reopen", ours.open_seconds, "s", peer.open_seconds, std::nullopt);
  return {};
}

}  // namespace moraine::bench
