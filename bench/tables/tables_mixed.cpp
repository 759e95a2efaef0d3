// Half reads, half durable updates, over four times what the caches hold; and reads while a whole
// table is compacted.

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "bench/page_cache.h"
#include "bench/tables/contest.h"
#include "bench/tables/tables_mixed.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kThreads = 2;
constexpr double kQuietTimesMax = 2;
constexpr std::array<std::pair<const char*, double>, 3> kQuantiles{
    {{"p50", 0.5}, {"p99", 0.99}, {"p999", 0.999}}};

struct Latencies {
  std::vector<std::uint64_t> reads;
  std::vector<std::uint64_t> updates;
};

Round round_of(std::vector<std::uint64_t> latencies, double seconds) {
  Round round;
  round.operations = std::max<std::uint64_t>(latencies.size(), 1);
  round.bytes = round.operations * kRowBytes;
  round.seconds = seconds;
  round.latencies = std::move(latencies);
  return round;
}

// One thread of one side.
template <class Reader, class Update>
Result<Latencies> read_and_update(Reader& reader, const Update& update, std::uint64_t rows,
                                  double seconds, std::uint64_t seed) {
  Latencies latencies;
  Dice dice(seed);
  const Stopwatch watch;
  while (watch.seconds() < seconds) {
    const std::uint64_t row = dice.below(rows);
    const auto key = KeyText::scattered(row);
    const std::uint64_t started = watch.nanoseconds();
    if (dice.below(2) == 0) {
      TRY(const bool there, reader.get(key));
      if (!there) return fail(Errc::kCorrupt, "a row is missing");
      latencies.reads.push_back(watch.nanoseconds() - started);
      continue;
    }
    const Result<void> updated = update(key, ValueText(row, seed));
    // Both threads updated the same row; rare, and the peer does not detect it.
    if (!updated && updated.error().code == Errc::kAborted) continue;
    if (!updated) return std::unexpected(updated.error());
    latencies.updates.push_back(watch.nanoseconds() - started);
  }
  return latencies;
}

// Rounds of one side, reads and updates separately.
struct SideRounds {
  Rounds reads;
  Rounds updates;
};

using Thread = std::function<Result<Latencies>(std::uint32_t thread)>;

Result<void> mixed_round(const Thread& run, double seconds, SideRounds& into, bool counts) {
  std::mutex mutex;
  Latencies all;
  wait_for_quiet_disk();
  TRY_VOID(on_threads(kThreads, [&](std::uint32_t thread) -> Result<void> {
    TRY(const Latencies some, run(thread));
    const std::lock_guard lock(mutex);
    all.reads.insert(all.reads.end(), some.reads.begin(), some.reads.end());
    all.updates.insert(all.updates.end(), some.updates.begin(), some.updates.end());
    return {};
  }));
  if (!counts) return {};
  into.reads.add(round_of(std::move(all.reads), seconds));
  into.updates.add(round_of(std::move(all.updates), seconds));
  return {};
}

Result<void> mixed_lines(const Setting& setting, const Pair& pair, std::uint64_t rows) {
  const double seconds = setting.quick ? 1 : 4;
  std::uint64_t seed = 1;
  const auto ours = [&](std::uint32_t thread) -> Result<Latencies> {
    TRY(OurReader reader, OurReader::make(pair.ours->table(), false));
    const auto update = [&](const KeyText& key, const ValueText& value) {
      return commit_row(pair.ours->database(), pair.ours->table(), key, value);
    };
    return read_and_update(reader, update, rows, seconds, seed * kThreads + thread);
  };
  const auto peer = [&](std::uint32_t thread) {
    RocksReader reader(pair.peer->db());
    const auto update = [&](const KeyText& key, const ValueText& value) {
      return pair.peer->commit_row(key, value);
    };
    return read_and_update(reader, update, rows, seconds, seed * kThreads + thread);
  };
  SideRounds own;
  SideRounds other;
  for (int i = 0; i <= (setting.quick ? 4 : 6); ++i, ++seed) {
    TRY_VOID(mixed_round(ours, seconds, own, i > 0));
    TRY_VOID(mixed_round(peer, seconds, other, i > 0));
  }
  for (const auto& [name, quantile] : kQuantiles) {
    add_smaller(setting.report, fmt::format("mixed_read_{}", name), own.reads.latency(quantile),
                "us", other.reads.latency(quantile), 1);
  }
  for (const auto& [name, quantile] : kQuantiles) {
    add_smaller(setting.report, fmt::format("mixed_update_{}", name), own.updates.latency(quantile),
                "us", other.updates.latency(quantile), 1);
  }
  setting.report.note(
      fmt::format("reads and updates a second: ours {:.0f} and {:.0f}, peer {:.0f} and {:.0f}",
                  own.reads.operations_per_second(), own.updates.operations_per_second(),
                  other.reads.operations_per_second(), other.updates.operations_per_second()));
  return {};
}

// Reads until `over` returns true.
Result<Round> read_until(const Table& table, std::uint64_t rows,
                         const std::function<bool()>& over) {
  TRY(OurReader reader, OurReader::make(table, false));
  Dice dice(77);
  std::vector<std::uint64_t> latencies;
  const Stopwatch watch;
  while (!over()) {
    const auto key = KeyText::scattered(dice.below(rows));
    const std::uint64_t started = watch.nanoseconds();
    TRY(const bool there, reader.get(key));
    if (!there) return fail(Errc::kCorrupt, "a row is missing");
    latencies.push_back(watch.nanoseconds() - started);
  }
  return round_of(std::move(latencies), watch.seconds());
}

Result<void> compaction_line(const Setting& setting, OurTable& ours, std::uint64_t rows) {
  Rounds quiet;
  Rounds during;
  for (int i = 0; i < (setting.quick ? 2 : 3); ++i) {
    wait_for_quiet_disk();
    const Stopwatch watch;
    TRY(Round before, read_until(ours.table(), rows,
                                 [&] { return watch.seconds() >= (setting.quick ? 1.0 : 3.0); }));
    quiet.add(std::move(before));
    std::atomic<bool> over = false;
    Result<void> compacted;
    std::thread compaction([&] {
      compacted = ours.database().run(ours.database().compact_table(OurTable::kPath));
      over = true;
    });
    Result<Round> meanwhile = read_until(ours.table(), rows, [&] { return over.load(); });
    compaction.join();
    TRY_VOID(compacted);
    if (!meanwhile) return std::unexpected(meanwhile.error());
    during.add(std::move(*meanwhile));
  }
  Line line{
      "tables",           "reads_during_compaction_p99", during.latency(0.99), "us", "ours, quiet",
      quiet.latency(0.99)};
  line.goal = Goal{Goal::Of::kValueAtMost, quiet.latency(0.99) * kQuietTimesMax};
  setting.report.add(std::move(line));
  setting.report.note("quiet", quiet);
  setting.report.note("during a compaction of all rows", during);
  return {};
}

}  // namespace

Result<void> bench_mixed(const Setting& setting, const Pair& pair, std::uint64_t rows) {
  TRY_VOID(mixed_lines(setting, pair, rows));
  TRY_VOID(pair.ours->settle());
  return compaction_line(setting, *pair.ours, rows);
}

}  // namespace moraine::bench
