#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "io/random.h"
#include "table/memory/test_rows.h"

namespace moraine::table {
namespace {

using Step = RowCursor::Step;

constexpr std::int64_t kKeys = 4'000;

// Scans must return, in order, every key that existed when they began.
void scan_while_written(const MemoryStore& store, const std::atomic<std::int64_t>& written,
                        const std::vector<std::string>& order, std::atomic<int>& failures) {
  std::size_t met = 0;
  while (met < static_cast<std::size_t>(kKeys)) {
    const auto before = static_cast<std::size_t>(written.load(std::memory_order_acquire));
    std::vector<std::string> keys;
    const auto cursor = store.scan({}, {});
    while (cursor->next() == Step::kRow) keys.emplace_back(as_text(cursor->row().key));
    met = keys.size();
    if (!std::is_sorted(keys.begin(), keys.end())) failures.fetch_add(1);
    for (std::size_t i = 0; i < before; ++i) {
      if (!std::binary_search(keys.begin(), keys.end(), order[i])) failures.fetch_add(1);
    }
  }
}

TEST(MemoryStoreThreads, AScanReturnsEveryRowThatExistedWhenItBegan) {
  SeededRandom random(5);
  std::vector<std::string> order;
  for (std::int64_t i = 0; i < kKeys; ++i) order.push_back(test_key(i));
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  MemoryStore store;
  std::atomic<std::int64_t> written{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] { scan_while_written(store, written, order, failures); });
  }
  for (const std::string& key : order) {
    test_write(store, key, 1, {{1, 1}});
    written.fetch_add(1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures.load(), 0);
}

// Reads one row of two equal values as long as it is written.
struct RowReader {
  void run(const MemoryStore& store, const std::string& key, const std::atomic<bool>& stop) {
    Timestamp newest = 0;
    RowBuilder out;
    while (!stop.load(std::memory_order_relaxed)) {
      out.clear();
      const MemoryStore::Row* found = store.find(as_bytes(key), key_hash(as_bytes(key)));
      if (found == nullptr || !MemoryStore::read(*found, {}, out)) continue;
      const auto value = out.values[0].value.as_int64();
      if (out.values.size() != 2 || out.values[1].value.as_int64() != value) failures.fetch_add(1);
      if (out.write_timestamps[0] < newest) failures.fetch_add(1);
      newest = out.write_timestamps[0];
      reads.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Returns after a read that began after the call.
  void wait_for_a_read() const {
    const int before = reads.load();
    while (reads.load() == before) std::this_thread::yield();
  }

  std::atomic<int> reads{0};
  std::atomic<int> failures{0};
};

TEST(MemoryStoreThreads, ReadersSeeChangesWhole) {
  constexpr int kVersions = 20'000;
  constexpr int kVersionsBetweenReads = 1'000;
  MemoryStore store;
  std::atomic<bool> stop{false};
  const std::string key = test_key(1);
  MemoryStore::Row& row = test_touch(store, key);
  std::array<RowReader, 2> readers;
  std::vector<std::thread> threads;
  for (RowReader& reader : readers) {
    threads.emplace_back([&] { reader.run(store, key, stop); });
  }
  for (int i = 1; i <= kVersions; ++i) {
    const auto timestamp = static_cast<Timestamp>(i);
    store.prepare(row, {timestamp, false});
    test_write(store, key, timestamp, {{1, i}, {2, i}});
    store.resolve(row, {timestamp, false});
    if (i % kVersionsBetweenReads != 0) continue;
    for (const RowReader& reader : readers) reader.wait_for_a_read();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  for (const RowReader& reader : readers) {
    EXPECT_EQ(reader.failures.load(), 0);
    EXPECT_GE(reader.reads.load(), kVersions / kVersionsBetweenReads);
  }
}

}  // namespace
}  // namespace moraine::table
