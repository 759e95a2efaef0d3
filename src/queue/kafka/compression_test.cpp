#include "queue/kafka/compression.h"

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy-c.h>

#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {
namespace {

constexpr std::size_t kPlentyBytes = 16 << 20;
const Compression kCodecs[] = {Compression::kNone, Compression::kGzip, Compression::kSnappy,
                               Compression::kLz4, Compression::kZstd};

Slice text_of(std::size_t size) {
  std::string text;
  for (int line = 0; text.size() < size; ++line) text += fmt::format("line {} of many\n", line);
  return Slice::copy_of(text.substr(0, size));
}

TEST(Compression, EveryCodecGivesBackWhatItTook) {
  for (const Compression codec : kCodecs) {
    for (const std::size_t size : {0, 1, 61, 16'384, 16'385, 65'536, 1'000'000}) {
      const Slice plain = text_of(size);
      const auto read = decompress(codec, compress(codec, plain), kPlentyBytes);
      ASSERT_TRUE(read.has_value()) << to_string(codec) << ": " << read.error().message;
      EXPECT_TRUE(equal(*read, plain)) << to_string(codec) << " of " << size;
    }
  }
}

TEST(Compression, TheLimitItselfFitsAndOneByteMoreDoesNot) {
  const std::size_t size = 100'000;
  const Slice plain = text_of(size);
  for (const Compression codec : kCodecs) {
    const Slice packed = compress(codec, plain);
    EXPECT_TRUE(decompress(codec, packed, size).has_value()) << to_string(codec);
    const auto over = decompress(codec, packed, size - 1);
    ASSERT_FALSE(over.has_value()) << to_string(codec);
    EXPECT_EQ(over.error().code, ErrorCode::kMessageTooLarge) << to_string(codec);
  }
}

TEST(Compression, APayloadCutAnywhereIsRefused) {
  const Slice plain = text_of(3'000);
  for (const Compression codec : kCodecs) {
    if (codec == Compression::kNone) continue;
    const Slice packed = compress(codec, plain);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      const auto read = decompress(codec, packed.sub(0, size), kPlentyBytes);
      // A xerial stream may end between blocks.
      if (codec == Compression::kSnappy && size == 16) continue;
      ASSERT_FALSE(read.has_value()) << to_string(codec) << " cut at " << size;
      EXPECT_EQ(read.error().code, ErrorCode::kCorruptMessage);
    }
  }
}

// A context that the thread keeps must not remember anything of a batch that was refused.
TEST(Compression, ARefusedPayloadDoesNotAffectTheNext) {
  const Slice plain = text_of(300'000);
  for (const Compression codec : kCodecs) {
    const Slice packed = compress(codec, plain);
    for (const std::size_t size : {packed.size() / 3, packed.size() - 1}) {
      if (codec != Compression::kNone) {
        EXPECT_FALSE(decompress(codec, packed.sub(0, size), kPlentyBytes)) << to_string(codec);
      }
      EXPECT_FALSE(decompress(codec, packed, 100'000)) << to_string(codec);
      const auto read = decompress(codec, packed, kPlentyBytes);
      ASSERT_TRUE(read.has_value()) << to_string(codec) << ": " << read.error().message;
      EXPECT_TRUE(equal(*read, plain)) << to_string(codec);
    }
  }
}

TEST(Compression, AChangedByteOfGzipIsNoticed) {
  constexpr std::size_t kGzipTrailerBytes = 8;
  const Slice plain = text_of(20'000);
  const Slice packed = compress(Compression::kGzip, plain);
  for (std::size_t at = 10; at < packed.size(); ++at) {  // After the header.
    Buffer changed(packed.size());
    std::memcpy(changed.data(), packed.data(), packed.size());
    changed.data()[at] ^= std::byte{0x10};
    if (at + kGzipTrailerBytes + 1 == packed.size()) continue;  // Its last bits have no meaning.
    EXPECT_FALSE(decompress(Compression::kGzip, std::move(changed).freeze(), kPlentyBytes)) << at;
  }
}

TEST(Compression, RefusesWhatIsNotOfTheCodec) {
  const Slice noise = Slice::copy_of("\xff\xff\xff\xff certainly not compressed");
  for (const Compression codec : kCodecs) {
    if (codec == Compression::kNone) continue;
    EXPECT_FALSE(decompress(codec, noise, kPlentyBytes).has_value()) << to_string(codec);
  }
  EXPECT_EQ(decompress(static_cast<Compression>(5), noise, kPlentyBytes).error().code,
            ErrorCode::kUnsupportedCompressionType);
}

TEST(Compression, ReadsSnappyAsOneRawBlock) {
  const Slice plain = text_of(200'000);
  Buffer packed(snappy_max_compressed_length(plain.size()));
  std::size_t size = packed.size();
  ASSERT_EQ(snappy_compress(plain.text().data(), plain.size(),
                            reinterpret_cast<char*>(packed.data()), &size),
            SNAPPY_OK);
  const auto read =
      decompress(Compression::kSnappy, std::move(packed).freeze().sub(0, size), kPlentyBytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(equal(*read, plain));
}

TEST(Compression, ASnappyBlockCannotClaimMoreThanItCanHold) {
  // The length of 100,000,000 bytes and one literal.
  const auto read = decompress(Compression::kSnappy, unhex("80c2d72f 0061"), std::size_t{1} << 30);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kCorruptMessage);
}

TEST(Compression, ReadsSeveralMembersAsOne) {
  for (const Compression codec : {Compression::kGzip, Compression::kLz4, Compression::kZstd}) {
    const Slice first = compress(codec, as_bytes("first, "));
    const Slice second = compress(codec, as_bytes("second"));
    const auto read = decompress(codec, joined(std::vector{first, second}), kPlentyBytes);
    ASSERT_TRUE(read.has_value()) << to_string(codec) << ": " << read.error().message;
    EXPECT_EQ(read->text(), "first, second");
  }
}

TEST(Compression, WritesLz4WithIndependentBlocksAndSnappyAsAXerialStream) {
  const Slice lz4 = compress(Compression::kLz4, as_bytes("x"));
  EXPECT_EQ(hex(lz4.sub(0, 4)), "04224d18");
  EXPECT_NE(std::to_integer<int>(lz4.data()[4]) & 0x20, 0);
  const Slice snappy = compress(Compression::kSnappy, as_bytes("x"));
  EXPECT_EQ(hex(snappy),
            "82534e4150505900"
            "00000001"
            "00000001"
            "00000003"
            "010078");
}

}  // namespace
}  // namespace moraine::kafka
