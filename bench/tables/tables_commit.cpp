// Durable commits: one writer, 64 writers, batches, transactions over two tablets.

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "bench/tables/commit_load.h"
#include "bench/tables/contest.h"
#include "bench/tables/tables_bench.h"
#include "bench/tables/tables_load.h"

namespace moraine::bench {
namespace {

constexpr double kGoalOneWriter = 1;
constexpr double kGoalManyWriters = 3;
constexpr double kGoalBatch = 1;
constexpr std::uint32_t kManyWriters = 64;
constexpr std::size_t kCacheBytes = std::size_t{64} << 20;
constexpr std::uint64_t kRoomRows = 6'000'000;

// The peer's batch of new rows.
void put(rocksdb::WriteBatch& batch, NewRows& rows, std::uint64_t count) {
  const std::uint64_t first = rows.take(count);
  for (std::uint64_t i = first; i < first + count; ++i) {
    const KeyText key = KeyText::scattered(i);
    const ValueText value(i, 0);
    batch.Put(rocks_slice(key.view()), rocks_slice(value.view()));
  }
}

// Two rows, in one half of the keys or in both.
Task<Result<void>> commit_two(OurTable& ours, NewRows& rows, bool both_halves) {
  CO_TRY(Transaction transaction, co_await ours.database().begin_async());
  CO_TRY_VOID(rows.insert_in_half(transaction, ours.table(), false));
  CO_TRY_VOID(rows.insert_in_half(transaction, ours.table(), both_halves));
  CO_TRY(const Timestamp committed, co_await transaction.commit_async());
  (void)committed;
  co_return Result<void>();
}

struct Field {
  const Setting& setting;
  const Pair& pair;
  NewRows our_rows;
  NewRows peer_rows;

  int rounds() const { return setting.quick ? 5 : 7; }
  double seconds() const { return setting.quick ? 0.4 : 1.5; }

  Result<void> commit_ours(std::uint64_t rows) {
    TRY(Transaction transaction, pair.ours->database().begin());
    TRY_VOID(our_rows.insert(transaction, pair.ours->table(), rows));
    TRY(const Timestamp committed, transaction.commit());
    (void)committed;
    return {};
  }
  Result<void> commit_peer(std::uint64_t rows) {
    rocksdb::WriteBatch batch;
    put(batch, peer_rows, rows);
    rocksdb::WriteOptions durable;
    durable.sync = true;
    return check(pair.peer->db().Write(durable, &batch));
  }
};

void add_commits(const Setting& setting, const std::string& name, const Contest& done,
                 double goal) {
  add_rate(setting.report, name, done, goal);
  setting.report.note("ours", done.ours);
  setting.report.note("peer", done.peer);
}

Result<void> by_size(Field& field, const char* name, std::uint64_t rows, double goal) {
  TRY(const Contest done,
      take_turns(
          field.rounds(),
          [&] { return by_threads(1, field.seconds(), [&] { return field.commit_ours(rows); }); },
          [&] { return by_threads(1, field.seconds(), [&] { return field.commit_peer(rows); }); }));
  add_commits(field.setting, name, done, goal);
  return {};
}

Result<void> many_writers(Field& field) {
  OurTable& ours = *field.pair.ours;
  Rounds threads;
  TRY(const Contest done,
      take_turns(
          field.rounds(),
          [&]() -> Result<Round> {
            TRY(Round round,
                by_threads(kManyWriters, field.seconds(), [&] { return field.commit_ours(1); }));
            threads.add(std::move(round));
            return by_coroutines(ours.database(), 1, kManyWriters, field.seconds(),
                                 [&] { return commit_new(ours, field.our_rows); });
          },
          [&] {
            return by_threads(kManyWriters, field.seconds(), [&] { return field.commit_peer(1); });
          }));
  add_commits(field.setting, "commit_64_writers", done, kGoalManyWriters);
  add_faster(field.setting.report, "commit_64_threads", threads.operations_per_second(), "ops/s",
             done.peer.operations_per_second(), std::nullopt);
  field.setting.report.note("ours, a thread for each writer", threads);
  return {};
}

Result<void> two_tablets(const Setting& setting, std::uint32_t writers) {
  const std::string folder = setting.folder.file("two-tablets");
  {
    OurOptions options;
    options.folder = folder;
    options.device_bytes = std::uint64_t{2} << 30;
    options.cache_bytes = kCacheBytes;
    options.row_cache_bytes = kRowCacheOff;
    options.pivots = {{Value("8")}};
    TRY(const auto ours, OurTable::open(options));
    NewRows rows;
    const double seconds = setting.quick ? 0.3 : 1.5;
    const auto side = [&](bool both) {
      return [&, both]() -> Result<Round> {
        TRY_VOID(commit_row(ours->database(), ours->table(), KeyText::growing(0), {0, 0}));
        return by_coroutines(ours->database(), 1, writers, seconds,
                             [&, both] { return commit_two(*ours, rows, both); });
      };
    };
    TRY(const Contest done, take_turns(setting.quick ? 3 : 5, side(true), side(false)));
    setting.report.add({"tables", fmt::format("two_tablet_transactions_{}", writers),
                        done.ours.operations_per_second(), "ops/s", "ours, one tablet",
                        done.peer.operations_per_second()});
    setting.report.note("over two tablets", done.ours);
    setting.report.note("in one", done.peer);
  }
  discard(folder);
  return {};
}

}  // namespace

Result<void> bench_tables_commit(const Setting& setting) {
  {
    PairOptions options;
    options.name = "commit";
    options.rows = kRoomRows;
    options.cache_bytes = kCacheBytes;
    TRY(const Pair pair, open_pair(setting, options));
    Field field{setting, pair, {}, {}};
    TRY_VOID(by_size(field, "commit_1_writer", 1, kGoalOneWriter));
    TRY_VOID(many_writers(field));
    TRY_VOID(by_size(field, "commit_batch_1000", kRowsPerBatch, kGoalBatch));
  }
  TRY_VOID(two_tablets(setting, 1));
  return two_tablets(setting, kManyWriters);
}

}  // namespace moraine::bench
