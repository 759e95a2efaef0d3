#include "base/block_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace moraine::detail {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockPool, HandsOutTheBlockThatWasGivenBackLast) {
  BlockPool pool(kMiB);
  Block* first = pool.take(8'000);
  Block* second = pool.take(8'192);
  pool.give(first);
  pool.give(second);
  EXPECT_EQ(pool.idle_bytes(), 2 * 8'192u);
  EXPECT_EQ(pool.take(5'000), second);
  EXPECT_EQ(pool.take(8'192), first);
  EXPECT_EQ(pool.idle_bytes(), 0u);
  EXPECT_EQ(first->references.load(), 1u);
  pool.give(first);
  pool.give(second);
}

TEST(BlockPool, GivesAlignedBlocksWithLittleSlackForEverySize) {
  BlockPool pool(0);
  for (std::size_t size = kPooledBlockBytesMin; size <= kPooledBlockBytesMax;
       size = size + size / 7 + 1) {
    Block* block = pool.take(size);
    EXPECT_GE(block->capacity, size);
    EXPECT_LE(block->capacity, align_up(size + size / 4, kAlignment)) << size;
    EXPECT_EQ(block->capacity % kAlignment, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data) % kAlignment, 0u);
    std::memset(block->data, 1, block->capacity);
    pool.give(block);
  }
}

TEST(BlockPool, WastesNothingOnPowersOfTwo) {
  BlockPool pool(0);
  for (std::size_t size = kPooledBlockBytesMin; size <= kPooledBlockBytesMax; size *= 2) {
    Block* block = pool.take(size);
    EXPECT_EQ(block->capacity, size);
    pool.give(block);
  }
}

TEST(BlockPool, NeverServesASizeFromASmallerBlock) {
  BlockPool pool(64 * kMiB);
  std::vector<Block*> blocks;
  for (std::size_t size = kPooledBlockBytesMin; size <= kMiB; size += 3 * kAlignment + 5) {
    blocks.push_back(pool.take(size));
  }
  for (Block* block : blocks) pool.give(block);
  blocks.clear();
  for (std::size_t size = kPooledBlockBytesMin; size <= kMiB; size += 2 * kAlignment + 3) {
    blocks.push_back(pool.take(size));
    EXPECT_GE(blocks.back()->capacity, size);
  }
  for (Block* block : blocks) pool.give(block);
}

TEST(BlockPool, ServesALargeSizeFromASomewhatLargerIdleBlock) {
  BlockPool pool(64 * kMiB);
  Block* const idle = pool.take(3 * kMiB);
  pool.give(idle);
  Block* const much_smaller = pool.take(kMiB);
  EXPECT_NE(much_smaller, idle);
  Block* const smaller = pool.take(2 * kMiB);
  EXPECT_EQ(smaller, idle);
  pool.give(much_smaller);
  pool.give(smaller);
  Block* const small = pool.take(kMiB / 8);
  EXPECT_EQ(small->capacity, kMiB / 8);
  pool.give(small);
}

TEST(BlockPool, KeepsNoMoreIdleBytesThanItMay) {
  BlockPool pool(10 * kMiB);
  std::vector<Block*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(pool.take(kMiB));
  for (Block* block : blocks) {
    pool.give(block);
    EXPECT_LE(pool.idle_bytes(), 10 * kMiB);
  }
  EXPECT_EQ(pool.idle_bytes(), 10 * kMiB);
}

TEST(BlockPool, LetsTheLargestIdleBlocksGoForSmallerOnes) {
  BlockPool pool(4 * kMiB);
  Block* large = pool.take(4 * kMiB);
  Block* small = pool.take(kAlignment);
  pool.give(large);
  EXPECT_EQ(pool.idle_bytes(), 4 * kMiB);
  pool.give(small);
  EXPECT_EQ(pool.idle_bytes(), kAlignment);
  EXPECT_EQ(pool.take(kAlignment), small);
  pool.give(small);
}

TEST(BlockPool, FreesALargeBlockThatDoesNotFitBesideSmallerOnes) {
  BlockPool pool(kMiB);
  Block* small = pool.take(kAlignment);
  Block* large = pool.take(kMiB);
  pool.give(small);
  pool.give(large);
  EXPECT_EQ(pool.idle_bytes(), kAlignment);
}

}  // namespace
}  // namespace moraine::detail
