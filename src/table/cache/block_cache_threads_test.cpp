#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "base/epoch.h"
#include "io/random.h"
#include "table/cache/block_cache.h"

namespace moraine::table {
namespace {

constexpr std::size_t kSlots = 200;
constexpr std::size_t kBlock = 64;
constexpr int kSteps = 20'000;

Slice block_of(std::size_t slot) {
  Buffer buffer(kBlock);
  std::memset(buffer.data(), static_cast<int>(slot), kBlock);
  return std::move(buffer).freeze();
}

bool is_block_of(const Slice& bytes, std::size_t slot) {
  for (const std::byte byte : bytes.span()) {
    if (byte != static_cast<std::byte>(slot)) return false;
  }
  return bytes.size() == kBlock;
}

TEST(BlockCacheThreads, ReadersSeeTheRightBlocksWhileOthersInsertAndForget) {
  BlockCache cache(kBlock * 50);
  std::array<BlockSlot, kSlots> slots;
  std::array<BlockSlot, kSlots> others;
  std::atomic<int> failures{0};
  const auto use = [&](std::uint64_t seed) {
    SeededRandom random(seed);
    for (int i = 0; i < kSteps; ++i) {
      const std::size_t slot = random.below(random.below(kSlots) + 1);
      const EpochGuard guard;
      const Slice* found = BlockCache::find(slots[slot]);
      if (found == nullptr) {
        if (slot == 7) {
          failures.fetch_add(cache.pin(slots[slot], block_of(slot)) ? 0 : 1);
        } else {
          cache.insert(slots[slot], block_of(slot));
        }
      } else if (!is_block_of(*found, slot)) {
        failures.fetch_add(1);
      }
    }
  };
  const auto open_and_close = [&] {
    for (int i = 0; i < 100; ++i) {
      for (std::size_t slot = 0; slot < kSlots; ++slot) cache.insert(others[slot], block_of(slot));
      cache.forget(others);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= 3; ++t) threads.emplace_back(use, t);
  threads.emplace_back(open_and_close);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_LE(cache.statistics().bytes, cache.bytes_max() + 4 * kBlock);
  cache.forget(slots);
  EXPECT_EQ(cache.statistics().blocks, 0U);
  EXPECT_EQ(cache.statistics().bytes, 0U);
  EXPECT_EQ(cache.statistics().pinned_bytes, 0U);
  EXPECT_TRUE(run_retired());
}

}  // namespace
}  // namespace moraine::table
