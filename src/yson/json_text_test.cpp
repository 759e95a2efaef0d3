#include "yson/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace moraine {
namespace {

// Every byte at every place, behind plain bytes and before bytes that may be taken for others.
TEST(JsonText, EndsAtTheFirstByteThatIsNotPlain) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    const bool plain = byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
    EXPECT_EQ(is_plain_json(c), plain) << byte;
    for (std::size_t at = 0; at < 20; ++at) {
      for (const char after : {'a', '!', '#', '[', ']', '\x21', '\x7f'}) {
        std::string text(20, after);
        for (std::size_t i = 0; i < at; ++i) text[i] = "x~! #]["[i % 7];
        text[at] = c;
        EXPECT_EQ(plain_json_length(text), plain ? text.size() : at) << byte << " at " << at;
        EXPECT_EQ(plain_json_length(std::string_view(text).substr(0, at)), at);
      }
    }
  }
}

}  // namespace
}  // namespace moraine
