#include "queue/blob_cache.h"

#include <gtest/gtest.h>

#include "io/random.h"
#include "io/task.h"

namespace moraine::queue {
namespace {

Piece piece_of(std::size_t bytes, Offset offset = 0) {
  StoredEntry entry;
  entry.offset = offset;
  entry.payload = Buffer::zeroed(bytes).freeze();
  return Piece::trusted(encode_piece({entry}));
}

BlobCache::Key key_of(Offset offset, std::uint32_t messages = 1) {
  return {1, 2, offset, messages};
}

TEST(BlobCache, HoldsNoMoreThanItsBound) {
  BlobCache cache(1'000'000);
  SeededRandom random(1);
  for (Offset i = 0; i < 2'000; ++i) {
    cache.insert(key_of(random.below(300)), piece_of(random.below(40'000)));
    ASSERT_LE(cache.bytes(), 1'000'000u);
  }
  EXPECT_GT(cache.bytes(), 500'000u);
}

TEST(BlobCache, WhatWasUsedLongestAgoGoesFirst) {
  BlobCache cache(100'000);
  for (Offset i = 0; i < 4; ++i) cache.insert(key_of(i), piece_of(20'000, i));
  EXPECT_TRUE(cache.find(key_of(0)));
  cache.insert(key_of(4), piece_of(20'000, 4));
  EXPECT_TRUE(cache.find(key_of(0)));
  EXPECT_FALSE(cache.find(key_of(1)));
  EXPECT_EQ(cache.hits(), 2u);
  EXPECT_EQ(cache.misses(), 1u);
}

TEST(BlobCache, APieceLongerThanTheBoundIsNotKeptAndDrivesNothingOut) {
  BlobCache cache(50'000);
  cache.insert(key_of(1), piece_of(10'000));
  cache.insert(key_of(2), piece_of(60'000));
  EXPECT_TRUE(cache.find(key_of(1)));
  EXPECT_FALSE(cache.find(key_of(2)));
}

TEST(BlobCache, PiecesOfOtherTabletsPartitionsAndLengthsAreOthers) {
  BlobCache cache;
  cache.insert({1, 2, 3, 4}, piece_of(10));
  EXPECT_TRUE(cache.find({1, 2, 3, 4}));
  EXPECT_FALSE(cache.find({2, 2, 3, 4}));
  EXPECT_FALSE(cache.find({1, 3, 3, 4}));
  EXPECT_FALSE(cache.find({1, 2, 4, 4}));
  EXPECT_FALSE(cache.find({1, 2, 3, 5}));
}

Task<void> acquire(LoadingBudget& budget, std::size_t bytes, int& inside) {
  co_await budget.acquire(bytes);
  ++inside;
}

TEST(LoadingBudget, HoldsNoMoreThanItsBoundOrALongerOneAlone) {
  LoadingBudget budget;
  int inside = 0;
  spawn(acquire(budget, kLoadingBytesMax - 10, inside));
  EXPECT_TRUE(budget.busy());
  spawn(acquire(budget, 2 * kLoadingBytesMax, inside));
  spawn(acquire(budget, 5, inside));
  EXPECT_EQ(inside, 1) << "the short one does not overtake";
  budget.release(kLoadingBytesMax - 10);
  EXPECT_EQ(inside, 2);
  EXPECT_EQ(budget.used(), 2 * kLoadingBytesMax);
  budget.release(2 * kLoadingBytesMax);
  EXPECT_EQ(inside, 3);
  budget.release(5);
  EXPECT_FALSE(budget.busy());
}

TEST(BlobCache, ErasingGivesTheMemoryBack) {
  BlobCache cache;
  cache.insert(key_of(1), piece_of(10'000));
  cache.insert(key_of(1), piece_of(20'000));
  cache.erase(key_of(1));
  cache.erase(key_of(1));
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_FALSE(cache.find(key_of(1)));
}

}  // namespace
}  // namespace moraine::queue
