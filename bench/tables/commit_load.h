// Durable commits for a while: new rows, written by threads or by coroutines.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "bench/measure.h"
#include "bench/tables/our_table.h"

namespace moraine::bench {

// New rows, one after the other. Threading: any thread.
class NewRows {
 public:
  Result<void> insert(Transaction& transaction, const Table& table, std::uint64_t count);
  // A key that begins with a digit, or with a letter.
  Result<void> insert_in_half(Transaction& transaction, const Table& table, bool upper);
  // Reserves `count` rows; returns the number of the first.
  std::uint64_t take(std::uint64_t count) { return next_.fetch_add(count); }

 private:
  std::atomic<std::uint64_t> next_{0};
};

using Commit = std::function<Result<void>()>;
using AsyncCommit = std::function<Task<Result<void>>()>;

// Commits one new row.
Task<Result<void>> commit_new(OurTable& ours, NewRows& rows);

// Each thread calls `commit` until the time is over; latencies are those of all calls.
Result<Round> by_threads(std::uint32_t threads, double seconds, const Commit& commit);

// The same with `count` coroutines, split evenly over the database's lanes: `lanes` calls of
// Database::run() at once, each on another lane. Requires: `lanes` divides `count`.
Result<Round> by_coroutines(Database& database, std::uint32_t lanes, std::uint32_t count,
                            double seconds, const AsyncCommit& commit);

}  // namespace moraine::bench
