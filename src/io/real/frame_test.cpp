#include "io/real/frame.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "io/real/frame_reader.h"

namespace moraine {
namespace {

std::vector<std::byte> frame_bytes(FrameKind kind, std::uint64_t request, ByteSpan payload) {
  const FrameHeaderBytes header = encode_frame_header(kind, request, payload);
  std::vector<std::byte> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

// Feeds `stream` in pieces of `step` bytes and collects the frames.
Result<std::vector<Frame>> read_all(ByteSpan stream, std::size_t step, std::size_t payload_max) {
  FrameReader reader(payload_max);
  std::vector<Frame> frames;
  while (true) {
    TRY(auto frame, reader.next());
    if (frame) {
      frames.push_back(std::move(*frame));
      continue;
    }
    if (stream.empty()) return frames;
    std::size_t count = 0;
    for (const MutableByteSpan part : reader.space()) {
      const std::size_t taken = std::min({part.size(), stream.size(), step - count});
      if (taken > 0) std::memcpy(part.data(), stream.data(), taken);
      stream = stream.subspan(taken);
      count += taken;
    }
    reader.filled(count);
  }
}

TEST(Frame, HeaderLayoutIsFixed) {
  const FrameHeaderBytes bytes =
      encode_frame_header(FrameKind::kRequest, 0x0807060504030201, as_bytes("abc"));
  EXPECT_EQ(load<std::uint8_t>(bytes.data()), 1);
  EXPECT_EQ(load<std::uint8_t>(bytes.data() + 1), 2);
  EXPECT_EQ(as_text(ByteSpan(bytes).subspan(2, 2)), "mr");
  EXPECT_EQ(load<std::uint32_t>(bytes.data() + 4), 3U);
  EXPECT_EQ(load<std::uint64_t>(bytes.data() + 8), 0x0807060504030201U);
  EXPECT_EQ(load<std::uint32_t>(bytes.data() + 16), crc32c(as_bytes("abc")));
  EXPECT_EQ(load<std::uint32_t>(bytes.data() + 20), crc32c(ByteSpan(bytes).first(20)));
}

TEST(Frame, EveryFlippedBitOfAHeaderIsNoticed) {
  const FrameHeaderBytes good = encode_frame_header(FrameKind::kReply, 7, as_bytes("abc"));
  ASSERT_TRUE(decode_frame_header(good));
  for (std::size_t bit = 0; bit < kFrameHeaderBytes * 8; ++bit) {
    FrameHeaderBytes bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decode_frame_header(bad)) << bit;
  }
}

TEST(Frame, AnotherVersionIsUnsupportedNotCorrupt) {
  FrameHeaderBytes bytes = encode_frame_header(FrameKind::kReply, 7, {});
  bytes[0] = std::byte{9};
  EXPECT_EQ(decode_frame_header(bytes).error().code, Errc::kUnsupported);
}

TEST(Frame, HelloAndRefusalComeBackAsTheyWere) {
  const Hello hello{NodeId{3}, NodeId{9}, "north"};
  EXPECT_EQ(*decode_hello(encode_hello(hello)), hello);
  const Result<Error> refusal = decode_refusal(encode_refusal(Errc::kUnavailable, "no handler"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Errc::kUnavailable);
  EXPECT_EQ(refusal->context, "no handler");
  EXPECT_EQ(encode_refusal(Errc::kIo, std::string(10'000, 'x')).size(), kControlBytesMax);
  EXPECT_FALSE(decode_refusal({}));
  EXPECT_FALSE(decode_hello(as_bytes("short")));
}

TEST(FrameReader, GivesTheSameFramesHoweverTheStreamIsCut) {
  const std::string large(200'000, 'L');
  std::vector<std::byte> stream;
  for (const std::string_view text :
       {std::string_view("one"), std::string_view(), std::string_view(large)}) {
    const auto bytes = frame_bytes(FrameKind::kRequest, text.size(), as_bytes(text));
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{23}, std::size_t{4096}, stream.size()}) {
    const auto frames = read_all(stream, step, kFrameBytesMax);
    ASSERT_TRUE(frames) << frames.error().message();
    ASSERT_EQ(frames->size(), 3U);
    EXPECT_EQ((*frames)[0].payload.text(), "one");
    EXPECT_TRUE((*frames)[1].payload.empty());
    EXPECT_EQ((*frames)[2].payload.text(), large);
    EXPECT_EQ((*frames)[2].request, large.size());
  }
}

TEST(FrameReader, ReportsAWrongPayloadChecksum) {
  auto bytes = frame_bytes(FrameKind::kRequest, 1, as_bytes("payload"));
  bytes.back() ^= std::byte{1};
  EXPECT_EQ(read_all(bytes, 5, kFrameBytesMax).error().code, Errc::kCorrupt);
}

TEST(FrameReader, RefusesAPayloadAboveTheCurrentLimitBeforeItArrives) {
  const auto bytes = frame_bytes(FrameKind::kRequest, 1, as_bytes(std::string(1000, 'x')));
  EXPECT_EQ(read_all(ByteSpan(bytes).first(kFrameHeaderBytes), 5, 999).error().code,
            Errc::kCorrupt);
  EXPECT_TRUE(read_all(bytes, 5, 1000));
}

TEST(FrameReader, RefusesAHeaderThatClaimsMoreThanAFrameMayHold) {
  FrameHeaderBytes bytes = encode_frame_header(FrameKind::kRequest, 1, {});
  store(bytes.data() + 4, static_cast<std::uint32_t>(kFrameBytesMax + 1));
  store(bytes.data() + 20, crc32c(ByteSpan(bytes).first(20)));
  EXPECT_EQ(read_all(bytes, 24, kFrameBytesMax).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace moraine
