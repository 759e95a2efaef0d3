#include "bench/tables/commit_load.h"

#include <mutex>

#include "base/invariant.h"
#include "bench/tables/contest.h"
#include "io/sync.h"

namespace moraine::bench {
namespace {

Result<void> insert_one(Transaction& transaction, const Table& table, std::uint64_t number) {
  const KeyText key = KeyText::scattered(number);
  const ValueText value(number, 0);
  return transaction.insert(table, {{"key", key.view()}, {"value", value.view()}});
}

// Shared by all writers of a round.
struct Writers {
  explicit Writers(double for_seconds) : seconds(for_seconds) {}
  bool over() const { return watch.seconds() >= seconds; }
  void done(const std::vector<std::uint64_t>& some) {
    const std::lock_guard lock(mutex);
    latencies.insert(latencies.end(), some.begin(), some.end());
  }
  Round round() {
    Round made;
    made.operations = latencies.size();
    made.bytes = made.operations * kRowBytes;
    made.seconds = watch.seconds();
    made.cpu_seconds = cpu_seconds() - cpu_before;
    made.latencies = std::move(latencies);
    return made;
  }

  const double seconds;
  const double cpu_before = cpu_seconds();
  const Stopwatch watch;
  std::mutex mutex;
  std::vector<std::uint64_t> latencies;  // Guarded by mutex while writers run.
};

// The writers of one lane.
struct LaneWriters {
  const Writers& all;
  const AsyncCommit& commit;
  Result<void> failed = {};
  std::vector<std::uint64_t> latencies = {};
};

Task<void> write_on(LaneWriters& lane) {
  while (!lane.all.over() && lane.failed) {
    const std::uint64_t started = lane.all.watch.nanoseconds();
    Result<void> committed = co_await lane.commit();
    if (!committed) lane.failed = std::move(committed);
    lane.latencies.push_back(lane.all.watch.nanoseconds() - started);
  }
}

Task<Result<void>> write_together(LaneWriters& lane, std::uint32_t count) {
  TaskScope scope;
  for (std::uint32_t i = 0; i < count; ++i) scope.spawn(write_on(lane));
  co_await scope.join();
  co_return lane.failed;
}

}  // namespace

Result<void> NewRows::insert(Transaction& transaction, const Table& table, std::uint64_t count) {
  const std::uint64_t first = take(count);
  for (std::uint64_t i = first; i < first + count; ++i) {
    TRY_VOID(insert_one(transaction, table, i));
  }
  return {};
}

Result<void> NewRows::insert_in_half(Transaction& transaction, const Table& table, bool upper) {
  std::uint64_t number = take(1);
  while ((KeyText::scattered(number).view().front() >= '8') != upper) number = take(1);
  return insert_one(transaction, table, number);
}

Task<Result<void>> commit_new(OurTable& ours, NewRows& rows) {
  CO_TRY(Transaction transaction, co_await ours.database().begin_async());
  CO_TRY_VOID(rows.insert(transaction, ours.table(), 1));
  CO_TRY(const Timestamp committed, co_await transaction.commit_async());
  (void)committed;
  co_return Result<void>();
}

Result<Round> by_threads(std::uint32_t threads, double seconds, const Commit& commit) {
  Writers writers(seconds);
  TRY_VOID(on_threads(threads, [&](std::uint32_t) -> Result<void> {
    std::vector<std::uint64_t> latencies;
    while (!writers.over()) {
      const std::uint64_t started = writers.watch.nanoseconds();
      TRY_VOID(commit());
      latencies.push_back(writers.watch.nanoseconds() - started);
    }
    writers.done(latencies);
    return {};
  }));
  return writers.round();
}

Result<Round> by_coroutines(Database& database, std::uint32_t lanes, std::uint32_t count,
                            double seconds, const AsyncCommit& commit) {
  INVARIANT(lanes > 0 && count % lanes == 0, "{} writers on {} lanes", count, lanes);
  Writers writers(seconds);
  TRY_VOID(on_threads(lanes, [&](std::uint32_t) -> Result<void> {
    LaneWriters lane{writers, commit};
    TRY_VOID(database.run<Result<void>>([&] { return write_together(lane, count / lanes); }));
    writers.done(lane.latencies);
    return {};
  }));
  return writers.round();
}

}  // namespace moraine::bench
