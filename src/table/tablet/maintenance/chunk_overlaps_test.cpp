#include "table/tablet/maintenance/chunk_overlaps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "io/random.h"
#include "table/tablet/maintenance/compaction_plan.h"

namespace moraine::table {
namespace {

class Overlaps : public testing::Test {
 protected:
  void add(std::uint64_t first, std::uint64_t last) {
    ChunkRecord& record = records_.emplace_back();
    record.id = records_.size();
    record.statistics.first_key = fmt::format("{:08}", first);
    record.statistics.last_key = fmt::format("{:08}", last);
  }
  ChunkOverlaps find() {
    std::vector<const ChunkRecord*> chunks;
    for (const ChunkRecord& record : records_) chunks.push_back(&record);
    return ChunkOverlaps(chunks);
  }
  // A run of adjacent chunks, and runs above it whose chunks overlap its boundaries.
  std::uint64_t steps_of(std::size_t chunks, std::size_t runs) {
    records_.clear();
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::size_t run = i % runs;
      const std::size_t first = i / runs * 100 + run * 7;
      add(first, first + 99);
    }
    return find().steps();
  }
  std::deque<ChunkRecord> records_;
};

TEST_F(Overlaps, AreThoseFoundByComparingAll) {
  SeededRandom random(3);
  for (int round = 0; round < 200; ++round) {
    records_.clear();
    const std::uint64_t count = random.below(30);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t first = random.below(100);
      add(first, first + random.below(20));
      if (random.one_in(4)) records_.back().from = fmt::format("{:08}", random.below(100));
      if (random.one_in(4)) records_.back().to = fmt::format("{:08}", random.below(100));
    }
    const ChunkOverlaps found = find();
    EXPECT_TRUE(found.complete());
    for (std::size_t a = 0; a < records_.size(); ++a) {
      for (std::size_t b = 0; b < records_.size(); ++b) {
        if (a == b) continue;
        const auto counts = [](const ChunkRecord& one) { return first_key(one) <= last_key(one); };
        const bool expected =
            counts(records_[a]) && counts(records_[b]) && overlap(records_[a], records_[b]);
        ASSERT_EQ(std::ranges::count(found.of(a), b), expected ? 1 : 0) << round;
      }
    }
  }
}

TEST_F(Overlaps, OfManyChunksAreFoundInStepsThatGrowWithTheirNumber) {
  for (const std::size_t runs : {1, 8}) {
    const std::uint64_t few = steps_of(2'000, runs);
    const std::uint64_t many = steps_of(16'000, runs);
    EXPECT_LT(many, 8 * few * 2) << runs;
    EXPECT_LT(many, 16'000 * (40 + 10 * runs)) << runs;
  }
}

TEST_F(Overlaps, OfVeryManyOverEachOtherAreListedInPart) {
  for (std::size_t i = 0; i < 4'000; ++i) add(0, 100);
  const ChunkOverlaps found = find();
  EXPECT_FALSE(found.complete());
  EXPECT_LT(found.steps(), 4'000 * (kOverlapsMax + 60));
}

}  // namespace
}  // namespace moraine::table
