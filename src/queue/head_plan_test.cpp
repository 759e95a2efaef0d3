#include "queue/head_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/random.h"

namespace moraine::queue {
namespace {

constexpr std::uint64_t kWatermark = 6u << 20;

// A head that follows its plans, and counts how often a byte was written.
struct Head {
  std::vector<HeadBlob> blobs;
  std::uint64_t written = 0;
  std::uint64_t fresh = 0;
  int bodies = 0;

  void add(std::uint64_t bytes, std::uint64_t watermark = kWatermark) {
    const HeadPlan plan = plan_head(blobs, bytes, watermark);
    std::uint64_t size = bytes;
    for (std::size_t i = plan.rewritten_from; i < blobs.size(); ++i) size += blobs[i].bytes;
    fresh += bytes;
    written += size;
    blobs.resize(plan.rewritten_from);
    if (plan.to_body) {
      ++bodies;
      blobs.clear();
    } else {
      blobs.push_back({size, plan.level});
    }
  }
  std::uint64_t sum(std::uint8_t level) const {
    std::uint64_t bytes = 0;
    for (const HeadBlob& blob : blobs) bytes += blob.level == level ? blob.bytes : 0;
    return bytes;
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const HeadBlob& blob : blobs) bytes += blob.bytes;
    return bytes;
  }
  void check(std::uint64_t watermark = kWatermark) const {
    ASSERT_LE(blobs.size(), kHeadBlobsMax);
    ASSERT_LT(bytes(), watermark);
    for (std::uint8_t level = 1; level < kHeadLevels; ++level) {
      ASSERT_LT(sum(level), kLevelBorders[level]) << "level " << int{level};
    }
    ASSERT_TRUE(std::ranges::is_sorted(blobs, {}, &HeadBlob::level)) << "finer towards the end";
  }
};

TEST(HeadPlan, KeepsBlobsAndBytesOfTheHeadWithinTheirBoundsWhateverComes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    Head head;
    const std::uint64_t scale = std::uint64_t{1} << random.below(22);
    for (int i = 0; i < 5'000; ++i) {
      head.add(1 + random.below(random.one_in(10) ? 16 * scale : scale));
      ASSERT_NO_FATAL_FAILURE(head.check());
    }
  }
}

TEST(HeadPlan, HoldsAlsoForALowWatermarkBelowTheLevels) {
  for (const std::uint64_t watermark : {1u, 100u, 5'000u, 70'000u}) {
    Head head;
    for (int i = 0; i < 2'000; ++i) {
      head.add(97, watermark);
      ASSERT_NO_FATAL_FAILURE(head.check(watermark));
    }
    EXPECT_GT(head.bodies, 0);
  }
}

TEST(HeadPlan, RewritesAByteAtMostOncePerLevel) {
  Head head;
  for (int i = 0; i < 200'000; ++i) head.add(140);
  EXPECT_LE(head.written, head.fresh * kHeadLevels);
  EXPECT_GT(head.bodies, 3);
}

TEST(HeadPlan, BlobsOfKeptSizeAreNeverRewritten) {
  Head head;
  for (int i = 0; i < 1'000; ++i) head.add(kKeptBytes + 1);
  EXPECT_EQ(head.written, head.fresh);
}

TEST(HeadPlan, AWriteLongerThanTheWatermarkGoesToTheBodyAtOnce) {
  const HeadPlan plan = plan_head({}, 20u << 20, kWatermark);
  EXPECT_TRUE(plan.to_body);
  EXPECT_EQ(plan.rewritten_from, 0u);
}

TEST(HeadPlan, LevelsFollowFromSizesAsTheyWereAfterARestart) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    Head head;
    for (int i = 0; i < 3'000; ++i) {
      head.add(96 + random.below(5'000));
      if (!random.one_in(50)) continue;
      std::vector<std::uint64_t> sizes;
      for (const HeadBlob& blob : head.blobs) sizes.push_back(blob.bytes);
      head.blobs = levels_of(sizes);
      ASSERT_NO_FATAL_FAILURE(head.check());
    }
  }
}

TEST(HeadPlan, TheWholeHeadKeepsItsCoarseBlobsByReference) {
  const HeadPlan plan = plan_whole_head({{100'000, 0}, {80'000, 0}, {5'000, 1}, {100, 2}});
  EXPECT_TRUE(plan.to_body);
  EXPECT_EQ(plan.rewritten_from, 2u);
}

}  // namespace
}  // namespace moraine::queue
