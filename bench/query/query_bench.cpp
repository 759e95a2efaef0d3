#include "bench/query/query_bench.h"

#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "bench/query/peers.h"
#include "bench/tables/contest.h"
#include "client/select.h"
#include "client/table_changes.h"
#include "embed/database_core.h"

namespace moraine::bench {
namespace {

constexpr std::uint64_t kRowsFull = 10'000'000;
constexpr std::uint64_t kRowsQuick = 1'000'000;
constexpr std::uint64_t kBatchRows = 2'000;
constexpr std::size_t kLanes = 2;
constexpr std::uint64_t kUpdatedPart = 10;  // Every tenth row.
constexpr double kGoalSqlite = 5;
constexpr double kGoalDuckdb = 1;
constexpr double kGoalUpdated = 0.6;
constexpr auto kOverloadPause = std::chrono::milliseconds(5);

class OurQueries {
 public:
  static Result<std::unique_ptr<OurQueries>> open(const std::string& folder, std::uint64_t rows) {
    OpenOptions options;
    options.device_bytes = std::uint64_t{2} << 30;
    options.device_bytes += rows * 1'500;
    options.lanes = kLanes;
    options.block_cache_bytes = rows * 600 + (std::size_t{64} << 20);
    TRY(auto core, embed::DatabaseCore::open(folder, options));
    return std::unique_ptr<OurQueries>(new OurQueries(std::move(core)));
  }

  Result<void> create(const BenchTable& table) {
    return core_->get<Result<void>>([&] {
      NewTable made;
      made.schema = table.schema;
      made.options.optimize_for = OptimizeFor::kScan;
      return core_->tables().create(std::string(table.name), std::move(made));
    });
  }

  // Rows first, first + step, ...
  Result<void> write(const BenchTable& table, std::uint64_t first, std::uint64_t step) {
    for (std::uint64_t begin = first; begin < table.rows; begin += kBatchRows * step) {
      for (;;) {
        const Result<void> done =
            core_->get<Result<void>>([&] { return write_batch(table, begin, step); });
        if (done) break;
        if (done.error().code != Errc::kOverloaded) return done;
        std::this_thread::sleep_for(kOverloadPause);  // Until memory has been flushed.
      }
    }
    return {};
  }

  Result<void> settle(const BenchTable& table) {
    return core_->get<Result<void>>([&]() -> Task<Result<void>> {
      const std::string path(table.name);
      CO_TRY_VOID(co_await client::flush_table(core_->tables(), path));
      co_return co_await client::settle_table(core_->tables(), path);
    });
  }
  Result<void> flush(const BenchTable& table) {
    return core_->get<Result<void>>(
        [&] { return client::flush_table(core_->tables(), std::string(table.name)); });
  }

  Result<QueryTime> measure(std::string_view text, std::size_t lanes) {
    QueryTime time;
    std::vector<double> rounds;
    for (int round = 0; round <= kQueryRounds; ++round) {
      const Stopwatch watch;
      TRY_VOID(core_->get<Result<void>>([&] { return run(std::string(text), lanes, time); }));
      if (round > 0) rounds.push_back(watch.seconds());
    }
    time.seconds = median(std::move(rounds));
    return time;
  }
  const client::SelectStatistics& statistics() const { return statistics_; }

 private:
  explicit OurQueries(std::unique_ptr<embed::DatabaseCore> core) : core_(std::move(core)) {}

  Task<Result<void>> write_batch(const BenchTable& table, std::uint64_t begin, std::uint64_t step) {
    CO_TRY(const client::Table opened, core_->client().open(std::string(table.name)));
    CO_TRY(client::Transaction transaction, co_await core_->client().begin({}, random_));
    std::string memory;
    std::vector<NamedValue> cells(table.schema.columns.size());
    for (std::uint64_t i = 0; i < kBatchRows && begin + i * step < table.rows; ++i) {
      const std::vector<Value> row = table.row(begin + i * step, memory);
      for (std::size_t c = 0; c < row.size(); ++c) {
        cells[c] = {table.schema.columns[c].name, row[c]};
      }
      CO_TRY_VOID(transaction.insert(opened, cells, {}));
    }
    const auto done = co_await transaction.commit();
    if (!done) co_return std::unexpected(done.error());
    co_return Result<void>();
  }

  Task<Result<void>> run(std::string text, std::size_t lanes, QueryTime& time) {
    client::SelectOptions options;
    options.bind.allow_join_without_index = true;
    options.lanes_max = lanes;
    CO_TRY(const auto selection,
           co_await client::select(core_->client(), std::move(text), options));
    ScanBatch batch;
    bool first = true;
    for (;;) {
      CO_TRY(const bool more, co_await selection->next(batch));
      if (!more) break;
      if (!std::exchange(first, false)) continue;
      time.first_row.clear();
      for (const ScanBatch::Column& column : batch.columns) {
        time.first_row += (time.first_row.empty() ? "" : "|") + cell_text(column.at(0));
      }
    }
    statistics_ = selection->statistics();
    co_return Result<void>();
  }

  const std::unique_ptr<embed::DatabaseCore> core_;
  SeededRandom random_{1};
  client::SelectStatistics statistics_;
};

using Times = std::vector<QueryTime>;

double per_second(const Times& times) {
  double sum = 0;
  for (const QueryTime& time : times) sum += std::log(time.seconds);
  return std::exp(-sum / static_cast<double>(times.size()));
}

Result<Times> measure_all(OurQueries& ours, std::size_t lanes) {
  Times times;
  for (const BenchQuery& query : bench_queries()) {
    auto time = ours.measure(query.ours, lanes);
    if (!time) return std::unexpected(std::move(time).error().within(query.name));
    times.push_back(std::move(*time));
  }
  return times;
}

// Per query, and the mean of all.
void compare(const Setting& setting, const std::string& name, const Times& ours,
             const std::string& peer, const Times& theirs, double goal) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string_view query = bench_queries()[i].name;
    setting.report.note(fmt::format("{} {:<18} {:9.3f} ms, {} {:9.3f} ms: {:.2f}", name, query,
                                    ours[i].seconds * 1e3, peer, theirs[i].seconds * 1e3,
                                    theirs[i].seconds / ours[i].seconds));
    if (ours[i].first_row != theirs[i].first_row) {
      setting.report.note(
          fmt::format("  DIFFERENT RESULTS: {} and {}", ours[i].first_row, theirs[i].first_row));
    }
  }
  setting.report.add({.bench = "query",
                      .name = name,
                      .value = per_second(ours),
                      .unit = "queries/s",
                      .peer = peer,
                      .peer_value = per_second(theirs),
                      .goal = Goal{.limit = goal}});
}

// Of a range of five counters: two columns of each group, and the other column of the key where the
// range begins and ends within a group.
constexpr std::uint64_t kRangeBlocksMax =
    2 * (5 * kViewsPerCounter / table::kScanBlockRows + 2) + 2;

Result<void> compare_blocks(const Setting& setting, OurQueries& ours) {
  constexpr std::string_view kRange =
      "sum(width) as c from [//hits] where counter between 20 and 24 group by 1";
  std::uint64_t of_range = 0;
  std::uint64_t of_all = 0;
  for (const std::string_view text :
       {"sum(width) as c from [//hits] group by 1", kRange.data(),
        "* from [//lineitem] where orderkey in (5, 1000, 20000) limit 20"}) {
    TRY_VOID(ours.measure(text, 1));
    const client::SelectStatistics& statistics = ours.statistics();
    setting.report.note(fmt::format("{}: {} blocks read, {} rows", text, statistics.blocks_read,
                                    statistics.rows_read));
    if (of_all == 0) of_all = statistics.blocks_read;
    if (text == kRange) of_range = statistics.blocks_read;
  }
  setting.report.add(
      {.bench = "query",
       .name = "query_range_blocks",
       .value = static_cast<double>(of_range),
       .unit = "blocks",
       .peer = "all keys",
       .peer_value = static_cast<double>(of_all),
       .goal = Goal{.of = Goal::Of::kValueAtMost, .limit = static_cast<double>(kRangeBlocksMax)}});
  return {};
}

}  // namespace

Result<void> bench_query_select(const Setting& setting) {
  const std::uint64_t rows = setting.quick ? kRowsQuick : kRowsFull;
  const std::vector<BenchTable> tables = bench_tables(rows);
  const std::filesystem::path folder = std::filesystem::path(setting.folder.path()) / "query";
  std::filesystem::create_directories(folder / "csv");
  TRY(const auto ours, OurQueries::open((folder / "ours").string(), rows));
  for (const BenchTable& table : tables) {
    TRY_VOID(ours->create(table));
    TRY_VOID(ours->write(table, 0, 1));
    TRY_VOID(ours->settle(table));
  }
  std::vector<Times> before;
  for (std::size_t lanes = 1; lanes <= kLanes; ++lanes) {
    TRY(before.emplace_back(), measure_all(*ours, lanes));
  }
  TRY_VOID(compare_blocks(setting, *ours));
  TRY(const Times sqlite, run_sqlite(tables));
  TRY_VOID(write_csv(tables, folder / "csv"));
  for (std::size_t lanes = 1; lanes <= kLanes; ++lanes) {
    compare(setting, fmt::format("query_{}_threads_sqlite", lanes), before[lanes - 1], "SQLite",
            sqlite, kGoalSqlite);
    std::string why;
    TRY(const auto duckdb, run_duckdb(folder / "csv", lanes, why));
    if (!duckdb) {
      setting.report.note(fmt::format("DuckDB: {}", why));
      continue;
    }
    compare(setting, fmt::format("query_{}_threads_duckdb", lanes), before[lanes - 1], "DuckDB",
            *duckdb, kGoalDuckdb);
  }
  // Half of the updates are in chunks, half in memory.
  for (const BenchTable& table : tables) {
    TRY_VOID(ours->write(table, 3, kUpdatedPart * 2));
    TRY_VOID(ours->flush(table));
    TRY_VOID(ours->write(table, 13, kUpdatedPart * 2));
  }
  for (std::size_t lanes = 1; lanes <= kLanes; ++lanes) {
    TRY(const Times after, measure_all(*ours, lanes));
    compare(setting, fmt::format("query_{}_threads_updated", lanes), after, "before updates",
            before[lanes - 1], kGoalUpdated);
  }
  return {};
}

}  // namespace moraine::bench
