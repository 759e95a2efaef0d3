#include "table/cache/block_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "base/epoch.h"

namespace moraine::table {
namespace {

constexpr std::size_t kBlock = 100;
constexpr std::size_t kBlocksMax = 10;

Slice block(char fill) {
  return Slice::copy_of(std::string(kBlock, fill));
}

class BlockCacheTest : public testing::Test {
 protected:
  ~BlockCacheTest() override { cache_.forget(slots_); }

  bool has(std::size_t slot) {
    const EpochGuard guard;
    return BlockCache::find(slots_[slot]) != nullptr;
  }

  BlockCache cache_{kBlock * kBlocksMax};
  std::array<BlockSlot, 40> slots_;
};

TEST_F(BlockCacheTest, FindsWhatWasInserted) {
  const EpochGuard guard;
  EXPECT_EQ(BlockCache::find(slots_[0]), nullptr);
  cache_.insert(slots_[0], block('a'));
  const Slice* found = BlockCache::find(slots_[0]);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->text(), std::string(kBlock, 'a'));
  EXPECT_EQ(BlockCache::find(slots_[1]), nullptr);
}

TEST_F(BlockCacheTest, TheFirstBlockOfASlotStays) {
  cache_.insert(slots_[0], block('a'));
  cache_.insert(slots_[0], block('b'));
  const EpochGuard guard;
  EXPECT_EQ(BlockCache::find(slots_[0])->text()[0], 'a');
  EXPECT_EQ(cache_.statistics().blocks, 1U);
  EXPECT_EQ(cache_.statistics().inserted, 1U);
  EXPECT_EQ(cache_.statistics().bytes, kBlock);
}

TEST_F(BlockCacheTest, KeepsTheLimit) {
  for (BlockSlot& slot : slots_) {
    cache_.insert(slot, block('a'));
    EXPECT_LE(cache_.statistics().bytes, cache_.bytes_max());
  }
  EXPECT_EQ(cache_.statistics().blocks, kBlocksMax);
  EXPECT_EQ(cache_.statistics().evicted, slots_.size() - kBlocksMax);
}

TEST_F(BlockCacheTest, BlocksInUseStayAndOthersAreEvicted) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    has(0);
    cache_.insert(slots_[i], block('a'));
  }
  EXPECT_TRUE(has(0));
}

TEST_F(BlockCacheTest, ALargeBlockIsNotKept) {
  cache_.insert(slots_[0], Slice::copy_of(std::string(cache_.bytes_max() / 8 + 1, 'a')));
  EXPECT_FALSE(has(0));
}

TEST_F(BlockCacheTest, PinnedBlocksStayAndDoNotCount) {
  EXPECT_TRUE(cache_.pin(slots_[0], Slice::copy_of(std::string(cache_.bytes_max() * 2, 'a'))));
  cache_.insert(slots_[1], block('b'));
  EXPECT_TRUE(cache_.pin(slots_[1], block('b')));
  for (std::size_t i = 2; i < slots_.size(); ++i) cache_.insert(slots_[i], block('c'));
  EXPECT_TRUE(has(0));
  EXPECT_TRUE(has(1));
  EXPECT_EQ(cache_.statistics().pinned_bytes, cache_.bytes_max() * 2 + kBlock);
  EXPECT_EQ(cache_.statistics().bytes, cache_.bytes_max());
}

TEST_F(BlockCacheTest, ForgottenBlocksFreeTheirMemory) {
  EXPECT_TRUE(cache_.pin(slots_[0], block('a')));
  for (std::size_t i = 1; i < kBlocksMax; ++i) cache_.insert(slots_[i], block('a'));
  cache_.forget(std::span(slots_).first(5));
  EXPECT_FALSE(has(0));
  EXPECT_FALSE(has(4));
  EXPECT_TRUE(has(5));
  EXPECT_EQ(cache_.statistics().bytes, kBlock * 5);
  EXPECT_EQ(cache_.statistics().pinned_bytes, 0U);
  cache_.insert(slots_[1], block('b'));
  EXPECT_TRUE(has(1));
  EXPECT_EQ(cache_.statistics().evicted, 0U);
}

TEST_F(BlockCacheTest, WhatWasFoundOutlivesItsEvictionUntilTheGuardEnds) {
  cache_.insert(slots_[0], block('a'));
  const EpochGuard guard;
  const Slice* found = BlockCache::find(slots_[0]);
  cache_.forget(std::span(slots_).first(1));
  run_retired();
  EXPECT_EQ(found->text(), std::string(kBlock, 'a'));
}

TEST_F(BlockCacheTest, ASmallPartOfALargeBufferIsCopied) {
  const Slice large = Slice::copy_of(std::string(100'000, 'a'));
  cache_.insert(slots_[0], large.sub(0, kBlock));
  const EpochGuard guard;
  EXPECT_LT(BlockCache::find(slots_[0])->held_bytes(), 2 * kBlock);
}

TEST(BlockCachePinned, CachesShareALimitAndReleaseWhatIsForgotten) {
  PinnedMemory pinned(3 * kBlock);
  BlockCache first(0, &pinned);
  BlockCache second(1u << 20, &pinned);
  std::array<BlockSlot, 2> slots;
  std::array<BlockSlot, 3> others;
  EXPECT_TRUE(first.pin(slots[0], block('a')));
  EXPECT_TRUE(first.pin(slots[0], block('a'))) << "again is free";
  EXPECT_TRUE(second.pin(others[0], block('b')));
  second.insert(others[1], block('b'));
  EXPECT_TRUE(second.pin(others[1], block('b')));
  EXPECT_EQ(pinned.bytes(), 3 * kBlock);
  EXPECT_FALSE(first.pin(slots[1], block('a')));
  second.insert(others[2], block('b'));
  EXPECT_FALSE(second.pin(others[2], block('b')));
  {
    const EpochGuard guard;
    EXPECT_EQ(BlockCache::find(slots[1]), nullptr);
    EXPECT_NE(BlockCache::find(others[2]), nullptr) << "it is still cached as an ordinary block";
  }
  second.forget(others);
  EXPECT_EQ(pinned.bytes(), kBlock);
  EXPECT_TRUE(first.pin(slots[1], block('a')));
  first.forget(slots);
  EXPECT_EQ(pinned.bytes(), 0u);
}

TEST(BlockCacheOff, ACacheOfNoBytesKeepsNothingButPinnedBlocks) {
  BlockCache cache(0);
  std::array<BlockSlot, 2> slots;
  cache.insert(slots[0], block('a'));
  EXPECT_TRUE(cache.pin(slots[1], block('a')));
  {
    const EpochGuard guard;
    EXPECT_EQ(BlockCache::find(slots[0]), nullptr);
    EXPECT_NE(BlockCache::find(slots[1]), nullptr);
  }
  cache.forget(slots);
}

}  // namespace
}  // namespace moraine::table
