#include "bench/tables/growth_picture.h"

#include <gtest/gtest.h>

namespace moraine::bench {
namespace {

TEST(GrowthPicture, HasACurveForEachSideAndNamesTheRows) {
  const std::string picture =
      growth_picture({{300'000, 9e5, 6e5}, {1'000'000, 8e5, 5e5}, {3'000'000, 7e5, 4e5}});
  std::size_t curves = 0;
  for (std::size_t at = picture.find("<polyline"); at != std::string::npos;
       at = picture.find("<polyline", at + 1)) {
    ++curves;
  }
  EXPECT_EQ(curves, 2u);
  for (const char* words : {"0.3 M rows", "1 M rows", "3 M rows", "Moraine", "RocksDB", "</svg>"}) {
    EXPECT_TRUE(picture.contains(words)) << words;
  }
}

}  // namespace
}  // namespace moraine::bench
