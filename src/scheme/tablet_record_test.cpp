#include "scheme/tablet_record.h"

#include <gtest/gtest.h>

#include "base/sealed.h"

namespace moraine {
namespace {

TabletInfo moved_tablet() {
  TabletInfo info = TabletInfo::simple(TabletId{77}, GroupId{5}, 3);
  info.channels[2].push_back({9, GroupId{6}});
  return info;
}

TEST(TabletRecord, KeepsTheHistoryOfEveryChannel) {
  const auto decoded = decode_tablet(encode_tablet(moved_tablet()));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->id, TabletId{77});
  EXPECT_EQ(decoded->channels, moved_tablet().channels);
}

TEST(TabletRecord, AnyFlippedBitIsFound) {
  const Slice good = encode_tablet(moved_tablet());
  for (std::size_t at = 0; at < good.size(); ++at) {
    Encoder bad;
    bad.raw(good);
    bad.span()[at] ^= std::byte{4};
    const auto decoded = decode_tablet(bad.span());
    ASSERT_FALSE(decoded) << at;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt) << at;
  }
}

TEST(TabletRecord, ATabletWithoutDataChannelsIsCorrupt) {
  TabletInfo info = moved_tablet();
  info.channels.resize(1);
  EXPECT_EQ(decode_tablet(encode_tablet(info)).error().code, Errc::kCorrupt);
}

TEST(TabletRecord, AnotherVersionIsUnsupported) {
  Encoder encoder;
  encoder.u8(9);
  append_tablet(encoder, moved_tablet());
  EXPECT_EQ(decode_tablet(seal(std::move(encoder))).error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace moraine
