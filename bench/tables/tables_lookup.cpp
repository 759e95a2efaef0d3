#include "bench/tables/tables_lookup.h"

#include <fmt/format.h>

#include "bench/tables/contest.h"
#include "bench/tables/tables_bench.h"

namespace moraine::bench {
namespace {

constexpr double kGoalSingle = 1.5;
constexpr double kGoalBatch = 2;
constexpr double kGoalRowCache = 3;
constexpr double kGoalMissing = 1;
constexpr double kGoalScan = 1.5;
constexpr std::size_t kBatch = 32;
constexpr std::uint64_t kHotRows = 10'000;
// Enough for rows, their keys, and the overhead of blocks.
constexpr std::size_t kCacheBytesPerRow = 300;
constexpr std::size_t kRowCacheBytes = std::size_t{16} << 20;

template <class Reader>
Result<std::uint64_t> one_by_one(Reader& reader, const LookupPlan& plan, Dice& dice) {
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    const auto key = KeyText::scattered(plan.among.first + dice.below(plan.among.count));
    TRY(const bool there, reader.get(key));
    if (there) ++found;
  }
  return found;
}

template <class Reader>
Result<std::uint64_t> in_batches(Reader& reader, const LookupPlan& plan, Dice& dice) {
  std::array<KeyText, kBatchMax> keys;
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < plan.count; i += plan.batch) {
    for (std::size_t at = 0; at < plan.batch; ++at) {
      keys[at] = KeyText::scattered(plan.among.first + dice.below(plan.among.count));
    }
    TRY(const std::size_t some, reader.get_many(std::span(keys.data(), plan.batch)));
    found += some;
  }
  return found;
}

template <class Reader>
Result<Round> lookup(const LookupPlan& plan, const std::function<Result<Reader>()>& make) {
  Round round;
  const double cpu_before = cpu_seconds();
  const Stopwatch watch;
  TRY_VOID(on_threads(plan.threads, [&](std::uint32_t thread) -> Result<void> {
    TRY(Reader reader, make());
    Dice dice(plan.seed * 1'000 + thread);
    TRY(const std::uint64_t found,
        plan.batch == 1 ? one_by_one(reader, plan, dice) : in_batches(reader, plan, dice));
    if (found == (plan.missing ? 0 : plan.count)) return {};
    return fail(Errc::kCorrupt, fmt::format("{} of {} rows were found", found, plan.count));
  }));
  round.seconds = watch.seconds();
  round.cpu_seconds = cpu_seconds() - cpu_before;
  round.operations = plan.count * plan.threads;
  round.bytes = round.operations * kRowBytes;
  return round;
}

Result<Contest> contest(const Setting& setting, const Pair& pair, LookupPlan plan) {
  const int rounds = setting.quick ? 5 : 7;
  return take_turns(
      rounds,
      [&] {
        ++plan.seed;
        return lookup_ours(*pair.ours, plan);
      },
      [&] { return lookup_rocks(*pair.peer, plan); });
}

Result<void> add_lookup(const Setting& setting, const Pair& pair, const char* name, double goal,
                        const LookupPlan& plan) {
  TRY(const Contest done, contest(setting, pair, plan));
  add_rate(setting.report, name, done, goal);
  return {};
}

}  // namespace

Result<Round> lookup_ours(OurTable& table, const LookupPlan& plan) {
  return lookup<OurReader>(plan, [&] { return OurReader::make(table.table(), plan.row_cache); });
}

Result<Round> lookup_rocks(RocksTable& table, const LookupPlan& plan) {
  return lookup<RocksReader>(plan,
                             [&]() -> Result<RocksReader> { return RocksReader(table.db()); });
}

Result<void> warm(const Pair& pair, std::uint64_t rows) {
  for (int i = 0; i < 2; ++i) {
    TRY(const Round own, scan_ours(*pair.ours));
    TRY(const Round other, scan_rocks(*pair.peer));
    if (own.operations != rows || other.operations != rows) {
      return fail(Errc::kCorrupt, fmt::format("{} rows of ours, {} of the peer, {} were loaded",
                                              own.operations, other.operations, rows));
    }
  }
  return {};
}

Result<void> bench_tables_lookup(const Setting& setting) {
  const std::uint64_t rows = rows_of(setting);
  PairOptions options;
  options.name = "lookup";
  options.rows = rows;
  options.cache_bytes = rows * kCacheBytesPerRow;
  options.row_cache_bytes = kRowCacheBytes;
  options.table.mount.lookup_cache_rows_per_tablet = kHotRows * 2;
  TRY(const Pair pair, load_pair(setting, options));
  TRY_VOID(warm(pair, rows));
  LookupPlan plan;
  plan.among = {0, rows};
  plan.count = setting.quick ? 200'000 : 1'000'000;
  TRY_VOID(add_lookup(setting, pair, "lookup_1_thread", kGoalSingle, plan));
  plan.threads = 2;
  TRY_VOID(add_lookup(setting, pair, "lookup_2_threads", kGoalSingle, plan));
  plan.threads = 1;
  plan.batch = kBatch;
  plan.count -= plan.count % kBatch;
  TRY_VOID(add_lookup(setting, pair, "lookup_batch_32", kGoalBatch, plan));
  plan.batch = 1;
  plan.among = {0, kHotRows};
  plan.row_cache = true;
  TRY_VOID(add_lookup(setting, pair, "lookup_row_cache", kGoalRowCache, plan));
  plan.row_cache = false;
  plan.among = {rows, rows};
  plan.missing = true;
  TRY_VOID(add_lookup(setting, pair, "lookup_missing", kGoalMissing, plan));
  TRY(const Contest scans, take_turns(
                               setting.quick ? 5 : 7, [&] { return scan_ours(*pair.ours); },
                               [&] { return scan_rocks(*pair.peer); }));
  add_faster(setting.report, "scan_full", scans.ours.operations_per_second(), "rows/s",
             scans.peer.operations_per_second(), kGoalScan);
  return {};
}

}  // namespace moraine::bench
