#include "blob/device/format.h"

#include <gtest/gtest.h>

#include "base/coding.h"

namespace moraine::blob {
namespace {

Manifest example() {
  Manifest manifest;
  manifest.start_sequence = 7;
  manifest.start_epoch = 3;
  manifest.start_run = 2;
  manifest.chunks.push_back({4, {1, 4096, 100, 0xabcd}});
  Manifest::SegmentState state;
  state.epoch = 3;
  state.used = true;
  state.holes = true;
  state.sectors = 17;
  manifest.segments.push_back(state);
  manifest.segments.emplace_back();
  return manifest;
}

TEST(ManifestFormat, GivesBackWhatItWasMadeOf) {
  const auto read = decode_manifest(encode_manifest(example()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->start_sequence, 7u);
  EXPECT_EQ(read->chunks[0].location, (Location{1, 4096, 100, 0xabcd}));
  EXPECT_TRUE(read->segments[0].used);
  EXPECT_TRUE(read->segments[0].holes);
  EXPECT_FALSE(read->segments[0].written);
  EXPECT_EQ(read->segments[0].sectors, 17u);
  EXPECT_FALSE(read->segments[1].used);
}

TEST(ManifestFormat, ReadsVersionOneWhereTheSectorsAreNotKnown) {
  Encoder encoder;
  encoder.u16(1).u64(7).u64(3).u32(2).u32(0);
  encoder.u32(2).u64(3).u8(3).u64(0).u8(0);
  const auto read = decode_manifest(encoder.slice());
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->segments.size(), 2u);
  EXPECT_TRUE(read->segments[0].used);
  EXPECT_TRUE(read->segments[0].written);
  EXPECT_EQ(read->segments[0].sectors, std::nullopt);
}

TEST(ManifestFormat, RefusesOtherVersionsAndFlags) {
  Encoder future;
  future.u16(3).u64(7).u64(3).u32(2).u32(0).u32(0);
  EXPECT_FALSE(decode_manifest(future.slice()));
  Encoder flags;
  flags.u16(1).u64(7).u64(3).u32(2).u32(0).u32(1).u64(3).u8(4);
  EXPECT_FALSE(decode_manifest(flags.slice())) << "version 1 knew no holes";
}

}  // namespace
}  // namespace moraine::blob
