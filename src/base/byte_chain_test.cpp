#include "base/byte_chain.h"

#include <gtest/gtest.h>

#include <string>

#include "base/checksum.h"

namespace moraine {
namespace {

TEST(ByteChain, OfOneSliceIsThatSlice) {
  const Slice text = Slice::copy_of("some bytes");
  ByteChain chain(text);
  EXPECT_EQ(chain.size(), text.size());
  ASSERT_NE(chain.single(), nullptr);
  EXPECT_EQ(chain.joined().data(), text.data());
  EXPECT_TRUE(ByteChain().joined().empty());
}

TEST(ByteChain, JoinsItsSlicesInOrder) {
  ByteChain chain;
  chain.append(Slice());
  for (const char* part : {"one, ", "", "two, ", "three"}) chain.append(Slice::copy_of(part));
  EXPECT_EQ(chain.single(), nullptr);
  EXPECT_EQ(chain.size(), 15u);
  EXPECT_EQ(chain.joined().text(), "one, two, three");
  EXPECT_EQ(chain.compute_checksum(), crc32c(as_bytes("one, two, three")));
}

TEST(ByteChain, ForgetsItsChecksumWhenItGrows) {
  ByteChain chain(Slice::copy_of("one"));
  EXPECT_FALSE(chain.known_checksum());
  chain.set_checksum(chain.compute_checksum());
  EXPECT_EQ(chain.known_checksum(), crc32c(as_bytes("one")));
  chain.append(Slice::copy_of("two"));
  EXPECT_FALSE(chain.known_checksum());
}

// A chain with a long slice, and between its slices and around them short ones.
ByteChain long_and_short(const Slice& long_slice) {
  ByteChain chain(Slice::copy_of("short"));
  chain.append(long_slice);
  chain.append(Slice::copy_of("end"));
  return chain;
}

TEST(ChainWriter, WritesWhatAnEncoderWritesAndCopiesNoLongSlice) {
  const Slice long_slice = Slice::copy_of(std::string(kReferencedBytesMin, 'l'));
  const Slice short_slice = Slice::copy_of(std::string(kReferencedBytesMin - 1, 's'));
  const ByteChain chain = long_and_short(long_slice);
  Encoder encoder;
  encoder.u8(1).u32(2).u64(3).sized("text").sized(short_slice).sized(long_slice).sized(Slice());
  encoder.sized(chain.joined()).u8(4);

  const std::size_t fields = 1 + 4 + 8 + 5 * 4 + 4 + 1;
  EXPECT_EQ(ChainWriter::copied_bytes(long_slice), 0u);
  ChainWriter writer(fields + ChainWriter::copied_bytes(short_slice) +
                     ChainWriter::copied_bytes(chain));
  writer.u8(1).u32(2).u64(3).sized("text").sized(short_slice).sized(long_slice).sized(Slice());
  writer.sized(chain);
  EXPECT_EQ(writer.checksum(), crc32c(std::as_const(encoder).span().first(encoder.size() - 1)));
  *writer.skip(1) = std::byte{4};
  const ByteChain written = std::move(writer).finish();
  EXPECT_TRUE(equal(written.joined(), std::as_const(encoder).span()));
  std::size_t references = 0;
  written.each([&](const Slice& slice) { references += slice.data() == long_slice.data(); });
  EXPECT_EQ(references, 2u);
}

TEST(ChainWriter, CopiesLongSlicesWhenAsked) {
  const Slice long_slice = Slice::copy_of(std::string(kReferencedBytesMin, 'l'));
  ChainWriter writer(5 + long_slice.size(), ChainWriter::Slices::kCopied);
  writer.u8(1).sized(long_slice);
  EXPECT_EQ(writer.block().size(), 5 + long_slice.size());
  const ByteChain written = std::move(writer).finish();
  ASSERT_NE(written.single(), nullptr);
  EXPECT_EQ(written.single()->text().substr(5), long_slice.text());
}

TEST(ChainWriter, OfShortFieldsIsOneSlice) {
  ChainWriter writer(9);
  writer.u8(1).sized(Slice::copy_of("four"));
  const ByteChain written = std::move(writer).finish();
  EXPECT_NE(written.single(), nullptr);
  EXPECT_EQ(written.size(), 9u);
}

}  // namespace
}  // namespace moraine
