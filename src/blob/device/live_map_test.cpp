#include "blob/device/live_map.h"

#include <gtest/gtest.h>

#include "blob/device/batch.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kBytes = 1u << 20;
constexpr std::uint32_t kSector = 4096;

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(const std::vector<LiveMap::Gap>& gaps) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const LiveMap::Gap& gap : gaps) found.emplace_back(gap.offset, gap.size);
  return found;
}

TEST(LiveMap, ASegmentWithoutExtentsIsOneGap) {
  const LiveMap map({3}, kBytes);
  EXPECT_EQ(map.bytes(3), 0u);
  EXPECT_EQ(pairs(map.gaps(3, kSector)), (decltype(pairs({})){{0, kBytes}}));
}

TEST(LiveMap, GapsLeaveOutEverySectorThatAnExtentTouches) {
  LiveMap map({0, 3}, kBytes);
  map.add({3, 2 * kSector + 100, 10, 0});
  map.add({3, 4 * kSector - 1, 2, 0});
  map.add({3, kBytes - 1, 1, 0});
  map.add({7, 0, kBytes, 0});
  EXPECT_EQ(map.bytes(3), 13u);
  EXPECT_EQ(map.bytes(0), 0u);
  const std::uint32_t rest = kBytes - 6 * kSector;
  EXPECT_EQ(pairs(map.gaps(3, kSector)),
            (decltype(pairs({})){{0, 2 * kSector}, {5 * kSector, rest}}));
  EXPECT_EQ(pairs(map.gaps(3, 3 * kSector)), (decltype(pairs({})){{5 * kSector, rest}}));
}

TEST(LiveMap, TheChecksumTableBeforeLargeDataIsLiveToo) {
  LiveMap map({0}, kBytes);
  map.add({0, 8 * kSector, 2 * kChecksumBlock, 0});
  EXPECT_EQ(map.bytes(0), 2 * kChecksumBlock);
  EXPECT_EQ(map.gaps(0, kSector).front().size, 7 * kSector);
}

TEST(LiveMap, AnExtentThatCannotBeThereMakesTheSegmentUnknown) {
  LiveMap outside({0}, kBytes);
  outside.add({0, kBytes - 1, 2, 0});
  EXPECT_EQ(outside.bytes(0), std::nullopt);
  LiveMap no_table({0}, kBytes);
  no_table.add({0, 0, 2 * kChecksumBlock, 0});
  EXPECT_EQ(no_table.bytes(0), std::nullopt);
}

}  // namespace
}  // namespace moraine::blob
