#include "queue/blob_cache.h"

#include <gtest/gtest.h>

#include <atomic>

#include "io/random.h"
#include "io/real/lane.h"
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

Piece piece_with(Offset offset, std::uint32_t messages, std::size_t bytes = 100) {
  StoredEntry entry;
  entry.offset = offset;
  entry.count = messages;
  entry.payload = Buffer::zeroed(bytes).freeze();
  return Piece::trusted(encode_piece({entry}));
}

void add(BlobCache& cache, Offset offset, std::uint32_t messages, std::size_t bytes = 100) {
  cache.insert(key_of(offset, messages), piece_with(offset, messages, bytes));
}

// The first offsets of the pieces of a run.
std::vector<Offset> run_from(BlobCache& cache, Offset offset, std::size_t bytes = 1u << 20) {
  std::vector<Offset> firsts;
  for (const Piece& piece : cache.find_run({1, 2, offset}, bytes)) {
    firsts.push_back(piece.header().first_offset);
  }
  return firsts;
}
using Offsets = std::vector<Offset>;

TEST(BlobCache, ARunEndsAtAGapAtTheBytesAndAtTheNextPartition) {
  BlobCache cache;
  for (const Offset offset : {10, 15, 20, 30}) add(cache, offset, 5);
  cache.insert({1, 3, 35, 5}, piece_with(35, 5));
  cache.insert({2, 2, 35, 5}, piece_with(35, 5));
  EXPECT_EQ(run_from(cache, 10), (Offsets{10, 15, 20}));
  EXPECT_EQ(run_from(cache, 19), (Offsets{15, 20}));
  EXPECT_EQ(run_from(cache, 34), (Offsets{30}));
  EXPECT_EQ(run_from(cache, 10, 1), (Offsets{10}));
  for (const Offset offset : {9, 25, 29, 35}) EXPECT_EQ(run_from(cache, offset), Offsets{});
}

TEST(BlobCache, ARunHasABoundedNumberOfPieces) {
  BlobCache cache;
  for (Offset offset = 0; offset < 2 * kRunPiecesMax; ++offset) add(cache, offset, 1);
  EXPECT_EQ(run_from(cache, 0).size(), kRunPiecesMax);
}

TEST(BlobCache, APieceReplacesThoseThatItContains) {
  BlobCache cache;
  for (Offset offset = 0; offset < 10; ++offset) add(cache, offset, 1, 1'000);
  const std::size_t before = cache.bytes();
  add(cache, 2, 6, 1'000);
  EXPECT_LT(cache.bytes(), before);
  EXPECT_FALSE(cache.find(key_of(2)));
  EXPECT_FALSE(cache.find(key_of(7)));
  EXPECT_TRUE(cache.find(key_of(8)));
  EXPECT_EQ(run_from(cache, 0), (Offsets{0, 1, 2, 8, 9}));
}

TEST(BlobCache, ARunGoesThroughPiecesThatOverlap) {
  BlobCache cache;
  add(cache, 0, 10);
  add(cache, 5, 10);  // Begins inside the first.
  add(cache, 7, 1);   // Inside both.
  add(cache, 15, 1);
  EXPECT_EQ(run_from(cache, 0), (Offsets{0, 5, 15}));
  EXPECT_EQ(run_from(cache, 7), (Offsets{7, 5, 15}));
  EXPECT_EQ(run_from(cache, 9), (Offsets{5, 15}));
}

TEST(BlobCache, CoversLooksForBytesPiecesOrTheEnd) {
  BlobCache cache;
  for (Offset offset = 0; offset < 8; ++offset) add(cache, offset, 1, 1'000);
  EXPECT_TRUE(cache.covers({1, 2, 0}, 100, 5'000, 100));
  EXPECT_FALSE(cache.covers({1, 2, 4}, 100, 5'000, 100));
  EXPECT_TRUE(cache.covers({1, 2, 4}, 100, 5'000, 4));
  EXPECT_FALSE(cache.covers({1, 2, 4}, 100, 5'000, 5));
  EXPECT_TRUE(cache.covers({1, 2, 4}, 8, 5'000, 100));
  EXPECT_FALSE(cache.covers({1, 2, 8}, 100, 1, 1));
}

TEST(BlobCache, IsUsedByAnyThread) {
  BlobCache cache(200'000);
  std::atomic<bool> done = false;
  Lane reader;
  reader.start();
  reader.post([&] {
    while (!done) {
      for (Offset offset = 0; offset < 100; offset += 7) {
        Offset next = offset;
        for (const Piece& piece : cache.find_run({1, 2, offset}, 20'000)) {
          EXPECT_LE(piece.header().first_offset, next);
          EXPECT_GT(piece.header().end_offset(), next);
          next = piece.header().end_offset();
        }
      }
    }
  });
  SeededRandom random(5);
  for (int i = 0; i < 20'000; ++i) {
    add(cache, random.below(100), static_cast<std::uint32_t>(1 + random.below(5)), 1'000);
  }
  done = true;
  reader.stop();
  EXPECT_LE(cache.bytes(), 200'000u);
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
