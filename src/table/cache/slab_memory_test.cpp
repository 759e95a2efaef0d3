#include "table/cache/slab_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "base/epoch.h"

namespace moraine::table {
namespace {

constexpr std::size_t kPlenty = std::size_t{64} << 20;

SlabMemory::Rank rank_of(const SlabMemory& memory, std::size_t item_bytes) {
  for (const SlabMemory::Rank& rank : memory.ranks()) {
    if (rank.item_bytes == item_bytes) return rank;
  }
  return {};
}

TEST(SlabMemory, ItemsDoNotOverlap) {
  SlabMemory memory(kPlenty);
  std::vector<std::pair<std::byte*, std::size_t>> items;
  for (std::size_t bytes = 1; bytes < 40'000; bytes = bytes * 3 / 2 + 1) {
    for (int i = 0; i < 50; ++i) {
      auto* item = static_cast<std::byte*>(memory.allocate(bytes));
      ASSERT_NE(item, nullptr);
      std::memset(item, static_cast<int>(items.size()), bytes);
      items.emplace_back(item, bytes);
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto [item, bytes] = items[i];
    ASSERT_EQ(item[0], static_cast<std::byte>(i));
    ASSERT_EQ(item[bytes - 1], static_cast<std::byte>(i));
    memory.free(item, bytes);
  }
}

TEST(SlabMemory, StatisticsCountLiveAndPastItems) {
  SlabMemory memory(kPlenty);
  void* first = memory.allocate(100);
  void* second = memory.allocate(128);
  memory.free(first, 100);
  const SlabMemory::Rank rank = rank_of(memory, 128);
  EXPECT_EQ(rank.alive_items, 1U);
  EXPECT_EQ(rank.allocated_items, 2U);
  EXPECT_EQ(rank.freed_items, 1U);
  EXPECT_EQ(rank.arena_bytes, memory.bytes());
  EXPECT_EQ(rank_of(memory, 64).arena_bytes, 0U);
  memory.free(second, 128);
}

TEST(SlabMemory, LargeItemsAreCountedSeparately) {
  SlabMemory memory(kPlenty);
  void* item = memory.allocate(100'000);
  EXPECT_EQ(memory.ranks().back().alive_items, 1U);
  EXPECT_EQ(memory.ranks().back().arena_bytes, 100'000U);
  EXPECT_EQ(memory.bytes(), 100'000U);
  memory.free(item, 100'000);
  EXPECT_EQ(memory.bytes(), 0U);
}

TEST(SlabMemory, AllocatesNothingPastTheLimit) {
  SlabMemory memory(std::size_t{1} << 20);
  std::vector<void*> items;
  while (void* item = memory.allocate(1'000)) items.push_back(item);
  EXPECT_GT(items.size(), 900U);
  EXPECT_LE(memory.bytes(), memory.bytes_max());
  EXPECT_EQ(memory.allocate(100'000), nullptr);
  memory.free(items.back(), 1'000);
  items.back() = memory.allocate(1'000);
  EXPECT_NE(items.back(), nullptr);
  for (void* item : items) memory.free(item, 1'000);
}

TEST(SlabMemory, MemoryThatOneClassFreedServesAnother) {
  SlabMemory memory(std::size_t{1} << 20);
  std::vector<void*> items;
  while (void* item = memory.allocate(64)) items.push_back(item);
  EXPECT_EQ(memory.allocate(8'000), nullptr);
  for (void* item : items) memory.free(item, 64);
  void* other = memory.allocate(8'000);
  EXPECT_NE(other, nullptr);
  memory.free(other, 8'000);
}

TEST(SlabMemory, ARetiredItemMayOutliveTheMemory) {
  auto memory = std::make_unique<SlabMemory>(kPlenty);
  auto* item = static_cast<char*>(memory->allocate(16));
  {
    const EpochGuard guard;
    memory->retire(item, 16);
    memory.reset();
    run_retired();
    item[0] = 'a';
  }
  EXPECT_TRUE(run_retired());
}

}  // namespace
}  // namespace moraine::table
