// A table used as a queue: rows are added at growing keys and deleted at the old end.

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <thread>

#include "bench/raw_disk.h"
#include "bench/tables/contest.h"
#include "bench/tables/tables_bench.h"
#include "bench/tables/tables_load.h"

namespace moraine::bench {
namespace {

constexpr std::uint64_t kTurnsOver = 100;  // Rows added, as a multiple of the live rows.
constexpr std::size_t kMessageBytes = 1'000;
constexpr std::uint64_t kMessageRowBytes = kKeyBytes + kMessageBytes;
constexpr std::uint64_t kFirstRows = 100;
constexpr std::size_t kCacheBytes = std::size_t{64} << 20;
constexpr double kLiveTimesMax = 2;
constexpr double kFirstRowsTimesMax = 1.5;
constexpr std::uint64_t kBatchesPerRead = 4;  // Of the first rows.
constexpr double kMB = 1e6;
constexpr std::uint64_t kStoresPerLive = 8;
constexpr auto kOverloadPause = std::chrono::milliseconds(5);

// Incompressible bytes, different from row to row.
class Messages {
 public:
  Messages() : bytes_(random_bytes(kMessageBytes * 64, 5)) {}
  std::string_view of(std::uint64_t number) const {
    const std::size_t at = Dice::mix(number) % (bytes_.size() - kMessageBytes);
    return {reinterpret_cast<const char*>(bytes_.data()) + at, kMessageBytes};
  }

 private:
  Slice bytes_;
};

// One side: appends rows, and deletes the rows that are more than `live` behind them.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual Result<void> pass(RowRange append, std::uint64_t live) = 0;
  virtual Result<std::uint64_t> read_first() = 0;
  virtual std::uint64_t bytes() = 0;
};

class OurQueue final : public Queue {
 public:
  explicit OurQueue(OurTable& table) : table_(table) {}
  Result<void> pass(RowRange append, std::uint64_t live) override {
    for (;;) {
      Result<void> done = try_pass(append, live);
      if (done || done.error().code != Errc::kOverloaded) return done;
      std::this_thread::sleep_for(kOverloadPause);  // Until memory has been flushed.
    }
  }
  Result<std::uint64_t> read_first() override {
    ScanOptions options;
    options.row_limit = kFirstRows;
    TRY(Scan scan, table_.table().scan(std::move(options)));
    ScanBatch batch;
    std::uint64_t rows = 0;
    for (;;) {
      TRY(const bool more, scan.next(batch));
      if (!more) return rows;
      rows += batch.rows;
    }
  }
  std::uint64_t bytes() override {
    return table_.database().run(table_.database().device_bytes_used());
  }

 private:
  Result<void> try_pass(RowRange append, std::uint64_t live) {
    TRY(Transaction transaction, table_.database().begin());
    for (std::uint64_t i = append.first; i < append.first + append.count; ++i) {
      const KeyText key = KeyText::growing(i);
      TRY_VOID(
          transaction.insert(table_.table(), {{"key", key.view()}, {"value", messages_.of(i)}}));
      if (i < live) continue;
      const KeyText old = KeyText::growing(i - live);
      TRY_VOID(transaction.remove(table_.table(), {Value(old.view())}));
    }
    TRY(const Timestamp committed, transaction.commit());
    (void)committed;
    return {};
  }

  OurTable& table_;
  Messages messages_;
};

class RocksQueue final : public Queue {
 public:
  explicit RocksQueue(RocksTable& table) : table_(table) {}
  Result<void> pass(RowRange append, std::uint64_t live) override {
    rocksdb::WriteBatch batch;
    for (std::uint64_t i = append.first; i < append.first + append.count; ++i) {
      const KeyText key = KeyText::growing(i);
      TRY_VOID(check(batch.Put(rocks_slice(key.view()), rocks_slice(messages_.of(i)))));
      if (i < live) continue;
      const KeyText old = KeyText::growing(i - live);
      TRY_VOID(check(batch.Delete(rocks_slice(old.view()))));
    }
    return check(table_.db().Write({}, &batch));
  }
  Result<std::uint64_t> read_first() override {
    const std::unique_ptr<rocksdb::Iterator> iterator(table_.db().NewIterator({}));
    std::uint64_t rows = 0;
    iterator->SeekToFirst();
    for (; iterator->Valid() && rows < kFirstRows; iterator->Next()) ++rows;
    TRY_VOID(check(iterator->status()));
    return rows;
  }
  std::uint64_t bytes() override { return table_.bytes_on_device(); }

 private:
  RocksTable& table_;
  Messages messages_;
};

struct QueueFigures {
  double first_at_start = 0;  // Microseconds.
  double first_at_end = 0;
  double peak_bytes = 0;  // Once the queue has its live size.
  double end_bytes = 0;
  double seconds = 0;
};

Result<void> read_first_rows(Queue& queue, std::vector<double>& costs) {
  const Stopwatch watch;
  TRY(const std::uint64_t rows, queue.read_first());
  costs.push_back(watch.seconds() * 1e6);
  if (rows != kFirstRows) return fail(Errc::kCorrupt, fmt::format("the first {} rows", rows));
  return {};
}

// The first rows are read throughout the second and third and the last two turns, whatever is in
// memory then: the question is whether deleted rows make reads slower.
Result<QueueFigures> run_queue(Queue& queue, std::uint64_t live,
                               const std::function<Result<void>()>& settle) {
  QueueFigures figures;
  std::vector<double> at_start;
  std::vector<double> at_end;
  const Stopwatch watch;
  const std::uint64_t end = live * kTurnsOver;
  for (std::uint64_t first = 0; first < end; first += kRowsPerBatch) {
    TRY_VOID(queue.pass({first, kRowsPerBatch}, live));
    const std::uint64_t turn = first / live;
    const bool reads = first / kRowsPerBatch % kBatchesPerRead == 0;
    if (reads && (turn == 1 || turn == 2)) {
      TRY_VOID(read_first_rows(queue, at_start));
    } else if (reads && turn >= kTurnsOver - 2) {
      TRY_VOID(read_first_rows(queue, at_end));
    }
    if (turn >= 1) {
      figures.peak_bytes = std::max(figures.peak_bytes, static_cast<double>(queue.bytes()));
    }
  }
  figures.first_at_start = median(std::move(at_start));
  figures.first_at_end = median(std::move(at_end));
  TRY_VOID(settle());
  figures.end_bytes = static_cast<double>(queue.bytes());
  figures.seconds = watch.seconds();
  return figures;
}

void add_figures(Report& report, std::uint64_t live, const QueueFigures& ours,
                 const QueueFigures& peer) {
  const double live_bytes = static_cast<double>(live * kMessageRowBytes);
  Line peak{"tables",  "queue_bytes_on_device_peak", ours.peak_bytes / kMB, "MB",
            kPeerName, peer.peak_bytes / kMB};
  peak.goal = Goal{Goal::Of::kValueAtMost, kLiveTimesMax * live_bytes / kMB};
  report.add(std::move(peak));
  Line bytes{"tables",  "queue_bytes_on_device_end", ours.end_bytes / kMB, "MB",
             kPeerName, peer.end_bytes / kMB};
  bytes.goal = Goal{Goal::Of::kValueAtMost, kLiveTimesMax * live_bytes / kMB};
  report.add(std::move(bytes));
  Line first{"tables", "queue_first_100_rows", ours.first_at_end,
             "us",     "ours, at start",       ours.first_at_start};
  first.goal = Goal{Goal::Of::kValueAtMost, kFirstRowsTimesMax * ours.first_at_start};
  report.add(std::move(first));
  report.note(
      fmt::format("live {:.1f} MB, {} times over: ours {:.1f} s, durably; peer {:.1f} s; "
                  "the peer's first rows: {:.0f} us at the start, {:.0f} us at the end",
                  live_bytes / kMB, kTurnsOver, ours.seconds, peer.seconds, peer.first_at_start,
                  peer.first_at_end));
}

}  // namespace

Result<void> bench_tables_queue(const Setting& setting) {
  // With less, the space reserved for quick commits would outweigh the live rows.
  const std::uint64_t live = 128'000;
  PairOptions options;
  options.name = "queue";
  options.rows = live * 20;
  options.cache_bytes = kCacheBytes;
  options.table.mount.min_data_ttl = std::chrono::milliseconds(0);
  options.table.mount.max_data_ttl = std::chrono::milliseconds(0);
  // In proportion to the live rows, which are few here.
  options.table.mount.max_dynamic_store_bytes = live * kMessageRowBytes / kStoresPerLive;
  TRY(const Pair pair, open_pair(setting, options));
  OurQueue our_queue(*pair.ours);
  RocksQueue peer_queue(*pair.peer);
  TRY(const QueueFigures ours, run_queue(our_queue, live, [&] { return pair.ours->settle(); }));
  TRY(const QueueFigures peer, run_queue(peer_queue, live, [&] { return pair.peer->settle(); }));
  add_figures(setting.report, live, ours, peer);
  TRY(const std::uint64_t chunks, pair.ours->chunk_bytes());
  add_smaller(setting.report, "queue_bytes_in_chunks", static_cast<double>(chunks) / kMB, "MB",
              peer.end_bytes / kMB, std::nullopt);
  return {};
}

}  // namespace moraine::bench
