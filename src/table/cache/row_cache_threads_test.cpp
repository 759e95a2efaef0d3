#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.h"
#include "io/random.h"
#include "table/cache/row_cache.h"

namespace moraine::table {
namespace {

constexpr std::size_t kKeys = 100;
constexpr std::uint64_t kFlushes = 500;

std::string key_of(std::size_t number) {
  return "key" + std::to_string(number);
}
std::uint64_t hash_of(std::string_view key) {
  return std::hash<std::string_view>()(key);
}

// For every key the chunks have the writes 1..revision; each flush adds one.
void fill(std::uint64_t from, std::uint64_t to, RowBuilder& row) {
  for (std::uint64_t timestamp = to; timestamp >= from; --timestamp) {
    row.write_timestamps.push_back(timestamp);
    row.values.push_back({Value(timestamp), timestamp, 1});
  }
}

struct Shared {
  SlabMemory memory{std::size_t{1} << 20};
  RowCache cache{memory};
  std::atomic<std::uint64_t> view{1};
  std::atomic<bool> stop{false};
  std::atomic<int> stale{0};
  std::atomic<std::uint64_t> found{0};
};

void look_up(Shared& shared, std::uint64_t seed) {
  SeededRandom random(seed);
  RowBuilder out;
  while (!shared.stop.load(std::memory_order_relaxed)) {
    const std::string key = key_of(random.below(kKeys));
    const EpochGuard guard;
    const std::uint64_t view = shared.view.load(std::memory_order_acquire);
    out.clear();
    if (shared.cache.find(as_bytes(key), hash_of(key), {}, out)) {
      shared.found.fetch_add(1, std::memory_order_relaxed);
      const bool whole = out.values.size() == 1 && out.write_timestamps.size() == 1 &&
                         out.values[0].value == Value(out.write_timestamps[0]);
      if (!whole || out.write_timestamps[0] < view) shared.stale.fetch_add(1);
      continue;
    }
    out.clear();
    out.key = as_bytes(key);
    fill(view > 20 ? view - 20 : 1, view, out);
    shared.cache.insert(out.row(), hash_of(key), view);
  }
}

// Rows of the newest view, so that readers find some even if they rarely run.
void put_some(RowCache& cache, std::uint64_t view) {
  for (std::size_t i = 0; i < kKeys; i += 10) {
    const std::string key = key_of(i);
    RowBuilder row;
    row.key = as_bytes(key);
    fill(view > 20 ? view - 20 : 1, view, row);
    cache.insert(row.row(), hash_of(key), view);
  }
}

TEST(RowCacheThreads, NoReaderGetsARowThatLacksWhatItsViewHas) {
  Shared shared;
  shared.cache.set_rows_max(kKeys / 2);
  std::vector<std::thread> readers;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    readers.emplace_back([&shared, seed] { look_up(shared, seed); });
  }
  std::uint64_t met = 0;
  for (std::uint64_t revision = 2; revision <= kFlushes || met == 0; ++revision) {
    shared.cache.begin_flush(revision);
    for (std::size_t i = 0; i < kKeys; ++i) {
      const std::string key = key_of(i);
      RowBuilder row;
      row.key = as_bytes(key);
      fill(revision, revision, row);
      shared.cache.update(row.row(), hash_of(key));
    }
    shared.view.store(revision, std::memory_order_release);
    put_some(shared.cache, revision);
    std::this_thread::yield();
    if (revision % 100 == 0) shared.cache.set_rows_max(revision % 200 == 0 ? 10 : kKeys / 2);
    met = shared.found.load(std::memory_order_relaxed);
  }
  shared.stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(shared.stale.load(), 0);
  EXPECT_EQ(shared.cache.statistics().hits, shared.found.load());
}

}  // namespace
}  // namespace moraine::table
