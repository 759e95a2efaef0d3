#include "scheme/next_tablet.h"

#include <gtest/gtest.h>

#include "base/sealed.h"

namespace moraine {
namespace {

TEST(NextTablet, IsGivenBackAsItWas) {
  EXPECT_EQ(decode_next_tablet(encode_next_tablet(TabletId{77})), TabletId{77});
}

TEST(NextTablet, AnyFlippedBitIsFound) {
  const Slice good = encode_next_tablet(TabletId{77});
  for (std::size_t at = 0; at < good.size(); ++at) {
    Encoder bad;
    bad.raw(good);
    bad.span()[at] ^= std::byte{4};
    const auto decoded = decode_next_tablet(bad.span());
    ASSERT_FALSE(decoded) << at;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt) << at;
  }
}

TEST(NextTablet, ZeroAndMoreBytesAreCorruptAndAnotherVersionIsUnsupported) {
  EXPECT_EQ(decode_next_tablet(encode_next_tablet(TabletId{0})).error().code, Errc::kCorrupt);
  Encoder longer;
  longer.u8(1).u64(77).u8(0);
  EXPECT_EQ(decode_next_tablet(seal(std::move(longer))).error().code, Errc::kCorrupt);
  Encoder newer;
  newer.u8(2).u64(77);
  EXPECT_EQ(decode_next_tablet(seal(std::move(newer))).error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace moraine
