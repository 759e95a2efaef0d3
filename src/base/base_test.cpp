#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/result.h"

namespace moraine {
namespace {

TEST(Checksum, MatchesThePublishedVectorAndChains) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(as_bytes("56789"), crc32c(as_bytes("1234"))), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Decoder, StaysFailedAfterAShortRead) {
  Encoder encoder;
  encoder.u16(7);
  Decoder decoder(encoder.span());
  EXPECT_EQ(decoder.u32(), 0u);
  EXPECT_TRUE(decoder.failed());
  EXPECT_EQ(decoder.u8(), 0u);
  EXPECT_FALSE(decoder.finished());
}

TEST(Decoder, RefusesACountThatCannotFit) {
  Encoder encoder;
  encoder.u32(1000).u64(1);
  Decoder decoder(encoder.span());
  EXPECT_EQ(decoder.count(8), 0u);
  EXPECT_TRUE(decoder.failed());
}

TEST(Slice, KeepsItsMemoryWhileAnyPartOfItLives) {
  Slice part;
  {
    Buffer buffer(8192);
    buffer.data()[5000] = std::byte{42};
    Slice whole = std::move(buffer).freeze();
    EXPECT_TRUE(whole.aligned());
    part = whole.sub(5000, 1);
  }
  EXPECT_EQ(part.span()[0], std::byte{42});
  EXPECT_EQ(part.held_bytes(), 8192u);
}

TEST(Error, SaysItsKindAndItsContext) {
  Error error{Errc::kCorrupt, "segment 7"};
  EXPECT_EQ(std::move(error).within("device a").message(), "corrupt: device a: segment 7");
}

}  // namespace
}  // namespace moraine
