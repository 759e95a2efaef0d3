#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace moraine {
namespace {

std::string encoded(std::uint32_t code) {
  const auto tail = [code](unsigned shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3f));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointButSurrogatesIsText) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::string text = encoded(code);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    ASSERT_EQ(is_utf8(text), !surrogate) << code;
    ASSERT_EQ(utf8_length(text + "x"), surrogate ? 0 : text.size()) << code;
  }
  EXPECT_FALSE(is_utf8(encoded(0x110000)));
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, OverlongAndCutFormsAreNot) {
  for (const std::string bad : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\x80",
                                "\xff", "\xf5\x80\x80\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    EXPECT_FALSE(is_utf8(bad));
    EXPECT_FALSE(is_utf8(bad + "text")) << "a continuation is missing";
    EXPECT_EQ(utf8_length(bad), 0u);
  }
}

// Words of eight bytes are checked at once.
TEST(Utf8, ABadByteIsFoundAtEveryPlaceOfALongText) {
  for (std::size_t size = 1; size < 40; ++size) {
    const std::string text(size, 'a');
    ASSERT_TRUE(is_utf8(text));
    for (std::size_t at = 0; at < size; ++at) {
      std::string bad = text;
      bad[at] = '\x80';
      ASSERT_FALSE(is_utf8(bad)) << size << " " << at;
      std::string good = text;
      good.replace(at, 1, "\xc3\xa9");
      ASSERT_TRUE(is_utf8(good)) << size << " " << at;
    }
  }
}

}  // namespace
}  // namespace moraine
