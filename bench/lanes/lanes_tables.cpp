// Tables in this process on one lane and on two: durable commits and lookups, by coroutines.

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <filesystem>

#include "bench/lanes/lane_contest.h"
#include "bench/lanes/lanes_bench.h"
#include "bench/tables/commit_load.h"
#include "bench/tables/contest.h"
#include "bench/tables/tables_lookup.h"
#include "io/sync.h"

namespace moraine::bench {
namespace {

constexpr double kGoalCommit = 1.3;
constexpr double kGoalLookup = 1.7;
constexpr std::uint32_t kManyTablets = 16;
constexpr std::uint32_t kWriters = 64;
constexpr std::uint32_t kReadersPerLane = 8;
constexpr std::uint64_t kLookupsPerTurn = 64;  // Between two looks at the clock.
constexpr std::uint64_t kDeviceBytes = std::uint64_t{4} << 30;
constexpr std::size_t kCommitCacheBytes = std::size_t{64} << 20;
// Enough for rows, their keys, and the overhead of blocks.
constexpr std::size_t kCacheBytesPerRow = 300;
constexpr std::size_t kRowCacheBytes = std::size_t{1} << 20;  // Not used by these lines.

// First keys of the second and following of kManyTablets tablets. Keys are hexadecimal digits.
constexpr std::array<std::string_view, kManyTablets - 1> kPivots{
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"};

// The same table on one lane and on two. Removed from the disk with this object.
struct LaneTables {
  std::unique_ptr<OurTable> one;
  std::unique_ptr<OurTable> many;
  std::string folder;

  LaneTables() = default;
  LaneTables(const LaneTables&) = delete;
  LaneTables& operator=(const LaneTables&) = delete;
  ~LaneTables() {
    one.reset();
    many.reset();
    if (!folder.empty()) discard(folder);
  }
};

Result<void> open_tables(const Setting& setting, std::uint32_t tablets, std::size_t cache_bytes,
                         LaneTables& tables) {
  tables.folder = setting.folder.file("lanes-tables");
  std::error_code failed;
  std::filesystem::create_directories(tables.folder, failed);
  if (failed) return fail(Errc::kIo, fmt::format("{}: {}", tables.folder, failed.message()));
  OurOptions options;
  options.device_bytes = kDeviceBytes;
  options.cache_bytes = cache_bytes;
  options.row_cache_bytes = kRowCacheBytes;
  for (std::uint32_t i = 1; i < tablets; ++i) options.pivots.push_back({Value(kPivots[i - 1])});
  options.lanes = 1;
  options.folder = tables.folder + "/1";
  TRY(tables.one, OurTable::open(options));
  options.lanes = kManyLanes;
  options.folder = tables.folder + "/many";
  TRY(tables.many, OurTable::open(options));
  return {};
}

LaneSide side_of(OurTable& table, std::function<Result<Round>()> round) {
  return {std::move(round), [&table]() -> Result<std::string> {
            return table.database().run(table.database().metrics());
          }};
}

Result<void> commit_line(const Setting& setting, std::uint32_t tablets) {
  LaneTables tables;
  TRY_VOID(open_tables(setting, tablets, kCommitCacheBytes, tables));
  NewRows rows_of_one;
  NewRows rows_of_many;
  const auto round = [&](OurTable& table, std::uint32_t lanes, NewRows& rows) {
    return by_coroutines(table.database(), lanes, kWriters, lane_seconds(setting),
                         [&] { return commit_new(table, rows); });
  };
  LaneLine line;
  line.name = fmt::format("commit_{}_writers_t{}", kWriters, tablets);
  line.unit = "ops/s";
  line.goal = tablets == 1 ? kGoalOneTablet : kGoalCommit;
  return compare_lanes(
      setting, line, side_of(*tables.one, [&] { return round(*tables.one, 1, rows_of_one); }),
      side_of(*tables.many, [&] { return round(*tables.many, kManyLanes, rows_of_many); }));
}

// The lookups of a round.
struct Lookups {
  const Table& table;
  std::uint64_t rows = 0;
  double seconds = 0;
  ReadOptions options = {};
  Stopwatch watch = {};
  std::atomic<std::uint64_t> done = 0;
};

// The readers of one lane.
struct LaneReaders {
  Lookups& all;
  Result<void> failed = {};
  std::uint64_t done = 0;
};

Task<Result<void>> look_up(const Lookups& all, std::uint64_t number, Rowset& rows) {
  const KeyText key = KeyText::scattered(number);
  std::vector<std::vector<Value>> keys(1, std::vector<Value>(1, Value(key.view())));
  CO_TRY_VOID(co_await all.table.lookup_async(std::move(keys), all.options, rows));
  if (rows.exists(0) && rows.at(0, 0).text().size() == kValueBytes) co_return Result<void>();
  co_return fail(Errc::kCorrupt, fmt::format("row {} was not found", number));
}

Task<void> read_on(LaneReaders& lane, std::uint64_t seed) {
  Dice dice(seed);
  Rowset rows;
  while (lane.failed && lane.all.watch.seconds() < lane.all.seconds) {
    for (std::uint64_t i = 0; i < kLookupsPerTurn && lane.failed; ++i) {
      Result<void> found = co_await look_up(lane.all, dice.below(lane.all.rows), rows);
      if (!found) lane.failed = std::move(found);
      ++lane.done;
    }
  }
}

Task<Result<void>> read_together(LaneReaders& lane, std::uint64_t seed) {
  TaskScope scope;
  for (std::uint32_t i = 0; i < kReadersPerLane; ++i) {
    scope.spawn(read_on(lane, seed * kReadersPerLane + i));
  }
  co_await scope.join();
  co_return lane.failed;
}

// Readers on every lane: as many calls of Database::run() at once, each on another lane.
Result<Round> lookup_round(OurTable& table, std::uint32_t lanes, std::uint64_t rows,
                           double seconds) {
  Lookups all{table.table(), rows, seconds};
  TRY(all.options.columns, table.table().columns({"value"}));
  all.options.use_lookup_cache = false;
  const double cpu_before = cpu_seconds();
  TRY_VOID(on_threads(lanes, [&](std::uint32_t lane) -> Result<void> {
    LaneReaders readers{all};
    TRY_VOID(table.database().run<Result<void>>([&] { return read_together(readers, lane + 1); }));
    all.done += readers.done;
    return {};
  }));
  Round round;
  round.seconds = all.watch.seconds();
  round.cpu_seconds = cpu_seconds() - cpu_before;
  round.operations = all.done;
  round.bytes = round.operations * kRowBytes;
  return round;
}

Result<void> lookup_line(const Setting& setting, std::uint32_t tablets) {
  const std::uint64_t rows = setting.quick ? 100'000 : 1'000'000;
  LaneTables tables;
  TRY_VOID(open_tables(setting, tablets, kCommitCacheBytes + rows * kCacheBytesPerRow, tables));
  for (OurTable* table : {tables.one.get(), tables.many.get()}) {
    TRY_VOID(table->load({0, rows}, 0));
    TRY_VOID(table->settle());
    TRY(const Round cached, scan_ours(*table));
    if (cached.operations != rows) {
      return fail(Errc::kCorrupt, fmt::format("{} of {} rows", cached.operations, rows));
    }
  }
  const auto round = [&](OurTable& table, std::uint32_t lanes) {
    return lookup_round(table, lanes, rows, lane_seconds(setting));
  };
  LaneLine line;
  line.name = fmt::format("lookup_async_t{}", tablets);
  line.unit = "ops/s";
  line.goal = tablets == 1 ? kGoalOneTablet : kGoalLookup;
  return compare_lanes(setting, line, side_of(*tables.one, [&] { return round(*tables.one, 1); }),
                       side_of(*tables.many, [&] { return round(*tables.many, kManyLanes); }));
}

}  // namespace

Result<void> bench_lanes_commit(const Setting& setting) {
  TRY_VOID(commit_line(setting, kManyTablets));
  return commit_line(setting, 1);
}

Result<void> bench_lanes_lookup(const Setting& setting) {
  TRY_VOID(lookup_line(setting, kManyTablets));
  return lookup_line(setting, 1);
}

}  // namespace moraine::bench
