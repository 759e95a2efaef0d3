#include "bench/tables/rows.h"

#include <gtest/gtest.h>

namespace moraine::bench {
namespace {

TEST(BenchRows, AWideRowIsDecodedAsItWasEncoded) {
  WideRowMaker maker;
  for (std::uint64_t number = 0; number < 1'000; ++number) {
    const WideRow& made = maker.make(number);
    std::string bytes;
    encode_wide(made, bytes);
    WideRow read;
    ASSERT_TRUE(decode_wide(bytes, read));
    EXPECT_EQ(read.numbers, made.numbers);
    EXPECT_EQ(read.city, made.city);
    EXPECT_EQ(read.comment, made.comment);
  }
}

TEST(BenchRows, ACutWideRowIsAnError) {
  WideRowMaker maker;
  std::string bytes;
  encode_wide(maker.make(7), bytes);
  WideRow read;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_wide(std::string_view(bytes).substr(0, size), read)) << size;
  }
}

TEST(BenchRows, GrowingKeysAreInOrderAndScatteredOnesAreNot) {
  EXPECT_LT(KeyText::growing(9).view(), KeyText::growing(10).view());
  EXPECT_LT(KeyText::growing(255).view(), KeyText::growing(256).view());
  int descents = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    if (KeyText::scattered(i).view() > KeyText::scattered(i + 1).view()) ++descents;
  }
  EXPECT_GT(descents, 20);
}

TEST(BenchRows, ValuesDifferFromVersionToVersion) {
  EXPECT_EQ(ValueText(1, 0).view(), ValueText(1, 0).view());
  EXPECT_NE(ValueText(1, 0).view(), ValueText(1, 1).view());
  EXPECT_NE(ValueText(1, 0).view(), ValueText(2, 0).view());
}

}  // namespace
}  // namespace moraine::bench
