#include "blob/device/segments.h"

#include <gtest/gtest.h>

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

TEST(Segments, ColoursComeInOrderAsSpaceGoes) {
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
  return l;
}

TEST(Segments, TheEmptiestAreCleanedFirstAndNothingThatGainsNoSegment) {
  SegmentTable table(20, kBytes);
  fill(table, 0, kBytes / 2);
  fill(table, 1, kBytes / 4);
  fill(table, 2, kBytes / 8);
  fill(table, 3, kBytes);
  EXPECT_EQ(table.victims(100, limits(0.5)), (std::vector<std::uint32_t>{2, 1, 0}));
  EXPECT_EQ(table.victims(100, limits(0.3)), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_TRUE(table.victims(100, limits(0.2)).empty())
      << "copying one segment into a fresh one gains nothing";
  EXPECT_EQ(table.victims(100, limits(0.2, kBytes / 4)), (std::vector<std::uint32_t>{2}))
      << "but into the open one it does";
  EXPECT_TRUE(table.victims(1, limits(1.0)).empty()) << "nothing is behind that checkpoint";
}

TEST(Segments, CleaningIsBoundedByTheRoomToCopyInto) {
  SegmentTable table(12, kBytes);
  for (std::uint32_t i = 0; i < 10; ++i) fill(table, i, kBytes / 3);
  auto bounded = limits(0.9);
  EXPECT_EQ(table.victims(100, bounded).size(), 3u);
  bounded.spared = kBytes;
  EXPECT_TRUE(table.victims(100, bounded).empty());
}

TEST(Segments, WrittenSegmentsAreReusedFirst) {
  SegmentTable table(12, kBytes);
  table.at(7).written = true;
  EXPECT_EQ(table.choose_free(std::nullopt), 7u);
  EXPECT_EQ(table.choose_free(7), 0u);
}

}  // namespace
}  // namespace moraine::blob
