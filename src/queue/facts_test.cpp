#include "queue/facts.h"

#include <gtest/gtest.h>

#include <cstring>

#include "queue/sources.h"

namespace moraine::queue {
namespace {

// Flips every byte, and cuts every length: `decode` must refuse.
template <class Decode>
void expect_refused_when_damaged(const Slice& good, Decode decode) {
  ASSERT_TRUE(decode(good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    Buffer bad(good.size());
    std::memcpy(bad.data(), good.data(), good.size());
    bad.data()[at] ^= std::byte{0x10};
    EXPECT_FALSE(decode(std::move(bad).freeze())) << at;
    EXPECT_FALSE(decode(good.sub(0, at))) << at;
  }
}

TEST(Facts, BoundsComeBackAndDamageIsNoticed) {
  EXPECT_EQ(decode_bounds(encode_bounds({5, 9})), (Bounds{5, 9}));
  EXPECT_FALSE(decode_bounds(encode_bounds({9, 5})));
  expect_refused_when_damaged(encode_bounds({5, 9}),
                              [](const Slice& bytes) { return decode_bounds(bytes).has_value(); });
}

TEST(Facts, ConsumersComeBackAndDamageIsNoticed) {
  const Slice bytes = encode_consumer({"name", 12, "mark", 3, 99});
  const auto back = decode_consumer("name", bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->consumer, "name");
  EXPECT_EQ(back->offset, 12u);
  EXPECT_EQ(back->metadata, "mark");
  EXPECT_EQ(back->leader_epoch, 3);
  EXPECT_EQ(back->committed_ms, 99u);
  expect_refused_when_damaged(
      bytes, [](const Slice& damaged) { return decode_consumer("name", damaged).has_value(); });
}

TEST(Facts, SourcesComeBackAndDamageIsNoticed) {
  Source source;
  source.numbering = Numbering::kSequence;
  source.max_number = 14;
  source.offset = 100;
  source.written_ms = 5;
  source.epoch = -3;
  source.window = {{10, 12, 97}, {13, 14, 100}};
  EXPECT_EQ(decode_source(encode_source(source)), source);
  expect_refused_when_damaged(encode_source(source),
                              [](const Slice& bytes) { return decode_source(bytes).has_value(); });
  for (std::uint32_t i = 0; i < kSequenceWindow; ++i) source.window.push_back({i, i, i});
  EXPECT_FALSE(decode_source(encode_source(source))) << "a window that is too long";
}

}  // namespace
}  // namespace moraine::queue
