// Scans: all keys and values in order, and one column of ten.

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "bench/tables/contest.h"
#include "bench/tables/tables_bench.h"
#include "bench/tables/tables_lookup.h"

namespace moraine::bench {
namespace {

constexpr double kGoalColumn = 10;
// Of ten columns, with the overhead of blocks.
constexpr std::size_t kCacheBytesPerRow = 400;

std::uint64_t touch(std::string_view text) {
  return static_cast<std::uint8_t>(text.front()) + static_cast<std::uint8_t>(text.back());
}

Round round_of(std::uint64_t rows, double seconds, std::uint64_t touched) {
  Round round;
  round.operations = rows;
  // Keeps the compiler from removing the unused sum.
  round.bytes = rows * kRowBytes + (touched & 1);
  round.seconds = seconds;
  return round;
}

struct Sum {
  std::int64_t value = 0;
  Round round;
};

Result<Sum> sum_ours(OurTable& table) {
  const Stopwatch watch;
  ScanOptions options;
  TRY(options.read.columns, table.table().columns({"amount"}));
  TRY(Scan scan, table.table().scan(std::move(options)));
  ScanBatch batch;
  std::uint64_t rows = 0;
  std::uint64_t sum = 0;
  for (;;) {
    TRY(const bool more, scan.next(batch));
    if (!more) break;
    rows += batch.rows;
    const ScanBatch::Column& column = batch.columns[0];
    if (column.nulls.empty()) {
      for (const std::uint64_t word : column.words) sum += word;
      continue;
    }
    for (std::size_t i = 0; i < batch.rows; ++i) {
      if (column.nulls[i] == 0) sum += column.words[i];
    }
  }
  return Sum{static_cast<std::int64_t>(sum), round_of(rows, watch.seconds(), sum)};
}

Result<Sum> sum_rocks(RocksTable& table) {
  const Stopwatch watch;
  const std::unique_ptr<rocksdb::Iterator> iterator(table.db().NewIterator({}));
  WideRow row;
  std::uint64_t rows = 0;
  std::int64_t sum = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    const rocksdb::Slice value = iterator->value();
    TRY_VOID(decode_wide({value.data(), value.size()}, row));
    sum += row.numbers[WideRow::kSummed];
    ++rows;
  }
  TRY_VOID(check(iterator->status()));
  return Sum{sum, round_of(rows, watch.seconds(), static_cast<std::uint64_t>(sum))};
}

}  // namespace

Result<Round> scan_ours(OurTable& table) {
  const Stopwatch watch;
  TRY(Scan scan, table.table().scan());
  ScanBatch batch;
  std::uint64_t rows = 0;
  std::uint64_t touched = 0;
  for (;;) {
    TRY(const bool more, scan.next(batch));
    if (!more) break;
    rows += batch.rows;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      touched += touch(batch.columns[0].texts[i]) + touch(batch.columns[1].texts[i]);
    }
  }
  return round_of(rows, watch.seconds(), touched);
}

Result<Round> scan_rocks(RocksTable& table) {
  const Stopwatch watch;
  const std::unique_ptr<rocksdb::Iterator> iterator(table.db().NewIterator({}));
  std::uint64_t rows = 0;
  std::uint64_t touched = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    const rocksdb::Slice key = iterator->key();
    const rocksdb::Slice value = iterator->value();
    touched += touch({key.data(), key.size()}) + touch({value.data(), value.size()});
    ++rows;
  }
  TRY_VOID(check(iterator->status()));
  return round_of(rows, watch.seconds(), touched);
}

Result<void> bench_tables_columns(const Setting& setting) {
  const std::uint64_t rows = rows_of(setting);
  PairOptions options;
  options.name = "columns";
  options.rows = rows;
  options.cache_bytes = rows * kCacheBytesPerRow;
  options.wide = true;
  options.table.optimize_for = OptimizeFor::kScan;
  TRY(const Pair pair, load_pair(setting, options));
  std::int64_t ours = 0;
  std::int64_t peer = 0;
  TRY(const Contest sums, take_turns(
                              setting.quick ? 5 : 7,
                              [&]() -> Result<Round> {
                                TRY(Sum sum, sum_ours(*pair.ours));
                                ours = sum.value;
                                return sum.round;
                              },
                              [&]() -> Result<Round> {
                                TRY(Sum sum, sum_rocks(*pair.peer));
                                peer = sum.value;
                                return sum.round;
                              }));
  if (ours != peer) {
    return fail(Errc::kCorrupt, fmt::format("the sum of ours is {}, the peer's {}", ours, peer));
  }
  add_faster(setting.report, "sum_one_column", sums.ours.operations_per_second(), "rows/s",
             sums.peer.operations_per_second(), kGoalColumn);
  return {};
}

}  // namespace moraine::bench
