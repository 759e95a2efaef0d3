#include "blob/device/segments.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kBytes = 1u << 20;

// Seals segment i with `live` bytes, last written at sequence i + 1.
void fill(SegmentTable& table, std::uint32_t i, std::uint32_t live) {
  table.open(i, i + 1);
  table.seal(i);
  table.at(i).last_sequence = i + 1;
  if (live > 0) table.add_live({i, 0, live, 0});
}

TEST(Segments, ColoursFollowTheFreeSpace) {
  Colour worst = Colour::kGreen;
  EXPECT_EQ(colour_of(1000, 1000), Colour::kGreen);
  for (std::uint32_t free = 1000; free-- > 0;) {
    const Colour colour = colour_of(free, 1000);
    EXPECT_GE(colour, worst) << free;
    EXPECT_LE(static_cast<int>(colour) - static_cast<int>(worst), 1) << "none is skipped";
    worst = colour;
  }
  EXPECT_EQ(worst, Colour::kBlack);
  EXPECT_EQ(colour_of(138, 1000), Colour::kCyan);
  EXPECT_EQ(colour_of(139, 1000), Colour::kGreen);
  EXPECT_EQ(colour_of(54, 1000), Colour::kPreOrange);
}

TEST(Segments, OnlyDeadSegmentsBehindTheCheckpointAreFreed) {
  SegmentTable table(20, kBytes);
  fill(table, 0, 0);
  fill(table, 1, 100);
  fill(table, 2, 0);
  fill(table, 3, 0);
  table.at(2).readers = 1;
  EXPECT_EQ(table.dead(3), (std::vector<std::uint32_t>{0}));
  table.at(2).readers = 0;
  EXPECT_EQ(table.dead(4), (std::vector<std::uint32_t>{0, 2}));
}

SegmentTable::CleanLimits limits(double fill_max, std::uint64_t open_room = 0) {
  SegmentTable::CleanLimits l;
  l.fill_max = fill_max;
  l.open_room = open_room;
  l.segments = 16;
  return l;
}

TEST(Segments, TheEmptiestAreCleanedFirst) {
  SegmentTable table(20, kBytes);
  fill(table, 0, kBytes / 2);
  fill(table, 1, kBytes / 4);
  fill(table, 2, kBytes / 8);
  fill(table, 3, kBytes);
  EXPECT_EQ(table.victims(100, limits(0.5)), (std::vector<std::uint32_t>{2, 1}))
      << "no two records of half a segment fit one";
  EXPECT_EQ(table.victims(100, limits(0.3)), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(table.victims(100, limits(0.2)), (std::vector<std::uint32_t>{2}));
  EXPECT_TRUE(table.victims(1, limits(1.0)).empty()) << "nothing is behind that checkpoint";
}

TEST(Segments, CleaningIsBoundedByTheRoomToCopyInto) {
  SegmentTable table(12, kBytes);
  for (std::uint32_t i = 0; i < 10; ++i) fill(table, i, kBytes / 3);
  auto bounded = limits(0.9);
  bounded.segments = 2;
  EXPECT_EQ(table.victims(100, bounded), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(table.segments_of_copies({0, 1, 2}, 0), 2u);
  EXPECT_EQ(table.segments_of_copies({0, 1, 2, 3}, 0), 3u);
  bounded.segments = 0;
  EXPECT_TRUE(table.victims(100, bounded).empty());
  bounded.open_room = kBytes / 2;
  EXPECT_EQ(table.victims(100, bounded).size(), 1u) << "only what the open segment holds";
}

// The worst order: each segment is left when the longest record does not fit any more.
TEST(Segments, CopiesFillAtMostTheSegmentsThatWereCounted) {
  SeededRandom random(7);
  for (int round = 0; round < 2000; ++round) {
    SegmentTable table(8, kBytes);
    std::vector<std::uint64_t> sizes;
    const std::uint64_t longest = 1 + random.below(kBytes * 9 / 10);
    for (std::uint32_t i = 0; i < 4; ++i) {
      fill(table, i, 0);
      for (std::uint64_t left = random.below(kBytes); left > 0;) {
        const std::uint64_t size = std::min(left, 1 + random.below(longest));
        table.add_live({i, 0, static_cast<std::uint32_t>(size), 0});
        sizes.push_back(size);
        left -= size;
      }
      if (sizes.size() > 200) break;  // The overhead of many small ones is another matter.
    }
    const std::uint64_t open_room = random.below(kBytes);
    std::uint64_t room = open_room;
    std::uint32_t opened = 0;
    for (std::size_t i = sizes.size(); i > 1; --i) std::swap(sizes[i - 1], sizes[random.below(i)]);
    for (const std::uint64_t size : sizes) {
      if (size > room) {
        room = kBytes;
        ++opened;
      }
      room -= size;
    }
    EXPECT_LE(opened, table.segments_of_copies({0, 1, 2, 3}, open_room)) << "longest " << longest;
  }
}

TEST(Segments, SegmentsThatAreMostlyLiveAreWorthCleaningWhenTheirRecordsAreSmall) {
  SegmentTable table(64, kBytes);
  const std::uint32_t record = kBytes / 16;
  for (std::uint32_t i = 0; i < 60; ++i) {
    fill(table, i, 0);
    for (std::uint32_t n = 0; n < 11; ++n) table.add_live({i, n * record, record, 0});
  }
  EXPECT_FALSE(table.victims(100, limits(0.8)).empty());
  EXPECT_LT(table.colour(), Colour::kLightYellow);
  for (std::uint32_t i = 0; i < 60; ++i) {
    for (std::uint32_t n = 11; n < 15; ++n) table.add_live({i, n * record, record, 0});
  }
  EXPECT_TRUE(table.victims(100, limits(0.97)).empty()) << "nothing is gained";
}

TEST(Segments, ASegmentOfManyTinyRecordsDoesNotKeepOthersFromBeingCleaned) {
  SegmentTable table(20, kBytes);
  fill(table, 0, 0);
  for (std::uint32_t n = 0; n < kBytes / 100; ++n) table.add_live({0, n * 64, 48, 0});
  fill(table, 1, 0);
  for (std::uint32_t n = 0; n < 8; ++n) table.add_live({1, n * kBytes / 16, kBytes / 16, 0});
  EXPECT_LT(table[0].live, table[1].live);
  EXPECT_EQ(table.victims(100, limits(0.8)), (std::vector<std::uint32_t>{1}));
}

TEST(Segments, ASegmentThatWasLeftEarlyIsNotWrittenToItsEnd) {
  SegmentTable table(20, kBytes);
  for (const std::uint32_t used : {kBytes / 4, kBytes}) {
    table.open(0, 1);
    table.grow(0, used, 0);
    table.seal(0);
    table.release(0);
    EXPECT_EQ(table[0].written, used == kBytes) << used;
  }
}

TEST(Segments, TheColourCountsSegmentsThatLargeRecordsLeaveHalfEmpty) {
  SegmentTable table(64, kBytes);
  for (std::uint32_t i = 0; i < 60; ++i) fill(table, i, kBytes * 5 / 8);
  EXPECT_TRUE(table.victims(100, limits(0.97)).empty());
  EXPECT_GT(table.colour(), Colour::kLightYellow);
}

TEST(Segments, TheColourCountsWholeSegmentsThatCleaningWouldNotGainFrom) {
  SegmentTable table(24, kBytes);
  // One long record and many small ones: by its records' mean size the segment seems easy to pack.
  for (std::uint32_t i = 0; i < 19; ++i) {
    fill(table, i, kBytes * 9 / 16);
    for (std::uint32_t n = 0; n < 50; ++n) table.add_live({i, 0, 100, 0});
  }
  EXPECT_TRUE(table.victims(100, limits(0.97)).empty());
  EXPECT_EQ(table.colour(), colour_of(5, 24));
  for (std::uint32_t i = 0; i < 10; ++i) table.drop_live({i, 0, kBytes * 9 / 16, 0});
  EXPECT_EQ(table.victims(100, limits(0.97)).size(), 10u);
  EXPECT_GE(table.colour(), colour_of(14, 24));
  EXPECT_LT(table.colour(), colour_of(5, 24));
}

TEST(Segments, TheColourCountsWhatWaitsToBeAppended) {
  SegmentTable table(24, kBytes);
  for (std::uint32_t i = 0; i < 15; ++i) fill(table, i, kBytes * 9 / 10);
  EXPECT_EQ(table.colour(), colour_of(9, 24));
  EXPECT_EQ(table.colour(4 * kBytes / 3, 4), colour_of(6, 24)) << "two of a third fit a segment";
}

TEST(Segments, OnlySegmentsBehindTheCheckpointWithEnoughToGainAreTrimmed) {
  SegmentTable table(12, kBytes);
  for (std::uint32_t i = 0; i < 5; ++i) {
    fill(table, i, kBytes / 2);
    table.measure(i, kBytes, kBytes);
  }
  table.drop_live({1, 0, kBytes / 4, 0});
  table.drop_live({4, 0, kBytes / 2, 0});
  EXPECT_EQ(table.gain(0), kBytes / 2);
  EXPECT_EQ(table.gain(1), kBytes * 3 / 4);
  EXPECT_EQ(table.trimmable(100, kBytes / 2, 8), (std::vector<std::uint32_t>{1, 3, 2, 0}));
  EXPECT_EQ(table.trimmable(100, kBytes / 2, 2), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(table.trimmable(3, kBytes / 2, 8), (std::vector<std::uint32_t>{1, 0}));
  table.at(1).readers = 1;
  EXPECT_TRUE(table.trimmable(100, kBytes * 5 / 8, 8).empty());
}

TEST(Segments, UsedBytesFollowWhatIsAppendedGivenBackAndFreed) {
  SegmentTable table(12, kBytes);
  table.open(0, 1);
  table.add_live({0, 0, 1000, 0});
  table.grow(0, 8192, 1000);
  EXPECT_EQ(table.used_bytes(), 8192u);
  EXPECT_EQ(table.gain(0), 0u) << "sparse, but nothing died";
  table.add_live({0, 8192, 1000, 0});
  table.grow(0, 16384, 1000);
  table.drop_live({0, 0, 1000, 0});
  EXPECT_EQ(table.gain(0), 8192u);
  table.seal(0);
  table.measure(0, 8192, 1000);
  table.at(0).holes = true;
  EXPECT_EQ(table.used_bytes(), 8192u);
  EXPECT_EQ(table.gain(0), 0u);
  table.drop_live({0, 8192, 1000, 0});
  table.release(0);
  EXPECT_EQ(table.used_bytes(), 0u);
  EXPECT_FALSE(table[0].written) << "its blocks are not all there";
}

TEST(Segments, WrittenSegmentsAreReusedFirst) {
  SegmentTable table(12, kBytes);
  table.at(7).written = true;
  EXPECT_EQ(table.choose_free(std::nullopt), 7u);
  EXPECT_EQ(table.choose_free(7), 0u);
}

}  // namespace
}  // namespace moraine::blob
