#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/field_writer.h"
#include "base/result.h"

namespace moraine {
namespace {

TEST(Checksum, MatchesThePublishedVectorAndChains) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(as_bytes("56789"), crc32c(as_bytes("1234"))), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Checksum, OfTwoHalvesIsCombinedFromTheirs) {
  const std::string text(70'000, 'x');
  for (const std::size_t size : {0u, 1u, 15u, 16u, 255u, 4'096u, 4'097u, 65'535u, 69'999u}) {
    const ByteSpan all = as_bytes(text);
    const std::uint32_t first = crc32c(all.first(all.size() - size));
    const std::uint32_t second = crc32c(all.last(size));
    EXPECT_EQ(crc32c_combined(first, second, size), crc32c(all)) << size;
  }
  for (std::size_t size = 1; size < 600; ++size) {
    const ByteSpan all = as_bytes(text).first(1'000);
    EXPECT_EQ(crc32c_combined(crc32c(all.first(1'000 - size)), crc32c(all.last(size)), size),
              crc32c(all))
        << size;
  }
  // The size of the second half counts, also beyond 32 bits.
  EXPECT_EQ(crc32c_combined(1, 0, (std::uint64_t{1} << 32) + 5),
            crc32c_combined(crc32c_combined(1, 0, std::uint64_t{1} << 32), 0, 5));
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

TEST(FieldWriter, WritesWhatAnEncoderWrites) {
  Encoder encoder;
  encoder.u8(1).u32(2).u64(3).sized("four").sized("").u8(5);
  Buffer buffer(encoder.size());
  FieldWriter writer(buffer.data());
  writer.u8(1).u32(2).u64(3).sized("four").sized("");
  *writer.skip(1) = std::byte{5};
  EXPECT_TRUE(equal(writer.written(), std::as_const(encoder).span()));
  EXPECT_EQ(writer.position(), buffer.data() + buffer.size());
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
