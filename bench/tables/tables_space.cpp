// Bytes on the device and bytes written, after a load in random order and after every row was
// overwritten three times. The rows are then used for reads and updates that miss the cache.

#include <fmt/format.h>

#include "bench/tables/contest.h"
#include "bench/tables/tables_bench.h"
#include "bench/tables/tables_mixed.h"

namespace moraine::bench {
namespace {

constexpr std::uint64_t kOverwrites = 3;
constexpr double kMB = 1e6;

Result<void> add_space(const Setting& setting, const Pair& pair, const std::string& after,
                       std::uint64_t rows_written, std::uint64_t written_before) {
  const double user = static_cast<double>(rows_written * kRowBytes);
  Database& database = pair.ours->database();
  add_smaller(setting.report, "bytes_on_device_after_" + after,
              static_cast<double>(database.run(database.device_bytes_used())) / kMB, "MB",
              static_cast<double>(pair.peer->bytes_on_device()) / kMB, 1);
  add_smaller(
      setting.report, "write_amplification_after_" + after,
      static_cast<double>(database.run(database.device_bytes_written()) - written_before) / user,
      "x", static_cast<double>(pair.peer->bytes_written()) / user, 1);
  TRY(const std::uint64_t chunks, pair.ours->chunk_bytes());
  add_smaller(setting.report, "bytes_in_chunks_after_" + after, static_cast<double>(chunks) / kMB,
              "MB", static_cast<double>(pair.peer->bytes_on_device()) / kMB, std::nullopt);
  return {};
}

Result<void> reopen_both(const Setting& setting, const Pair& pair) {
  TRY(const double seconds, pair.ours->reopen());
  const auto bytes =
      static_cast<double>(pair.ours->database().run(pair.ours->database().device_bytes_used()));
  setting.report.note(fmt::format("after a clean stop: {:.1f} MB on the device, open in {:.2f} s",
                                  bytes / kMB, seconds));
  pair.peer->count_bytes(false);
  TRY(const double other, pair.peer->reopen());
  (void)other;
  return {};
}

}  // namespace

Result<void> bench_tables_space(const Setting& setting) {
  const std::uint64_t rows = rows_of(setting);
  PairOptions options;
  options.name = "space";
  options.rows = rows;
  options.cache_bytes = rows * kRowBytes / kWorkingSetPerCache;
  options.statistics = true;
  options.table.mount.min_data_ttl = std::chrono::milliseconds(0);
  options.table.mount.max_data_ttl = std::chrono::milliseconds(0);
  TRY(const Pair pair, open_pair(setting, options));
  const std::uint64_t before =
      pair.ours->database().run(pair.ours->database().device_bytes_written());
  TRY_VOID(pair.load({0, rows}, 0, setting.report));
  TRY_VOID(add_space(setting, pair, "load", rows, before));
  for (std::uint64_t version = 1; version <= kOverwrites; ++version) {
    TRY_VOID(pair.load({0, rows}, version, setting.report));
  }
  TRY_VOID(add_space(setting, pair, "overwrites", rows * (kOverwrites + 1), before));
  TRY_VOID(reopen_both(setting, pair));
  return bench_mixed(setting, pair, rows);
}

}  // namespace moraine::bench
