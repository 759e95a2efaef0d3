#include "yson/escape.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

using namespace std::string_view_literals;

std::string in_quotes(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}
std::string unescaped(std::string_view text) {
  std::string out;
  return append_unescaped(out, text) ? out : "refused";
}

TEST(Escape, BytesAreWrittenAsShortlyAsTheNextOneAllows) {
  EXPECT_EQ(in_quotes("plain ~ 'text'"), R"("plain ~ 'text'")");
  EXPECT_EQ(in_quotes("\"\\\n\r\t"), R"("\"\\\n\r\t")");
  EXPECT_EQ(in_quotes("\0"sv), R"("\0")");
  EXPECT_EQ(in_quotes("\7x"sv), R"("\7x")");
  EXPECT_EQ(in_quotes("\0"
                      "1"sv),
            R"("\0001")");
  EXPECT_EQ(in_quotes("\0"
                      "8"sv),
            R"("\08")");
  EXPECT_EQ(in_quotes("\x1f"sv), R"("\x1F")");
  EXPECT_EQ(in_quotes("\xd0\xba"), R"("\xD0\xBA")");
  EXPECT_EQ(in_quotes("\xff"
                      "a"),
            R"("\377a")");
  EXPECT_EQ(in_quotes("\xff"
                      "g"),
            R"("\xFFg")");
  EXPECT_EQ(in_quotes(""), R"("")");
}

TEST(Escape, EveryPairOfBytesIsReadBack) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      const std::string text = in_quotes(bytes);
      ASSERT_EQ(unescaped(std::string_view(text).substr(1, text.size() - 2)), bytes) << text;
    }
  }
}

TEST(Escape, AllFormsAreRead) {
  EXPECT_EQ(unescaped(R"(\a\b\f\v\n\t\r\\\"\')"), "\a\b\f\v\n\t\r\\\"'");
  EXPECT_EQ(unescaped(R"(\x41\x4\101\18\400)"),
            "A\x04"
            "A\x01"
            "8\x20"
            "0");
  EXPECT_EQ(unescaped(R"(\u0416\U0001F600)"), "\xd0\x96\xf0\x9f\x98\x80");
  EXPECT_EQ(unescaped(R"(\q)"), "q");
}

TEST(Escape, WhatNamesNoCharacterIsRefused) {
  for (const std::string_view text : {R"(\)"sv, R"(a\)"sv, R"(\x)"sv, R"(\xg)"sv, R"(\u041)"sv,
                                      R"(\ud800)"sv, R"(\U00110000)"sv}) {
    EXPECT_EQ(unescaped(text), "refused") << text;
  }
}

}  // namespace
}  // namespace moraine
