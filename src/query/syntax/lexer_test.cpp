#include "query/syntax/lexer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace moraine::query {
namespace {

std::vector<Token> tokens(std::string_view text, int syntax_version = 1) {
  Lexer lexer(text, syntax_version);
  std::vector<Token> all;
  for (;;) {
    auto token = lexer.next();
    EXPECT_TRUE(token) << text << ": " << token.error().context;
    if (!token || token->kind == TokenKind::kEnd) return all;
    all.push_back(std::move(*token));
  }
}
Token only(std::string_view text) {
  const auto all = tokens(text);
  EXPECT_EQ(all.size(), 1U) << text;
  return all.empty() ? Token() : all[0];
}
std::string why_not(std::string_view text) {
  Lexer lexer(text);
  for (;;) {
    auto token = lexer.next();
    if (!token) return token.error().context.substr(0, token.error().context.find('\n'));
    if (token->kind == TokenKind::kEnd) return "";
  }
}

TEST(QueryLexer, NumbersHaveTheirTypes) {
  EXPECT_EQ(only("5").kind, TokenKind::kInteger);
  EXPECT_EQ(only("5u").kind, TokenKind::kUnsigned);
  EXPECT_EQ(only("18446744073709551615u").word, ~std::uint64_t{0});
  EXPECT_EQ(only("9223372036854775808").word, std::uint64_t{1} << 63);
  for (const auto& [text, number] : {std::pair{"1.5", 1.5},
                                     {"1.", 1.0},
                                     {"1e3", 1e3},
                                     {"1.e3", 1e3},
                                     {"2.5E-1", 0.25},
                                     {"1e+2", 100.0}}) {
    EXPECT_EQ(only(text).kind, TokenKind::kDouble) << text;
    EXPECT_EQ(only(text).number, number) << text;
  }
}

TEST(QueryLexer, RefusesMalformedNumbers) {
  EXPECT_EQ(why_not("9223372036854775809"),
            "Error while parsing query: an integer is out of range at 1:1");
  EXPECT_NE(why_not("18446744073709551616u"), "");
  EXPECT_NE(why_not("1e"), "");
  EXPECT_NE(why_not("1e999"), "");
  EXPECT_NE(why_not("5x"), "");
  EXPECT_NE(why_not("5uu"), "");
}

TEST(QueryLexer, KeywordsHaveNoCaseAndMayHaveTwoWords) {
  EXPECT_EQ(only("GroUp \n\t bY").keyword, Keyword::kGroupBy);
  EXPECT_EQ(only("with Totals").keyword, Keyword::kWithTotals);
  EXPECT_EQ(only("BETWEEN").keyword, Keyword::kBetween);
  EXPECT_EQ(only("%false").keyword, Keyword::kFalse);
  EXPECT_EQ(only("TRUE").keyword, Keyword::kTrue);
}

TEST(QueryLexer, TheFirstOfTwoWordsAloneIsAName) {
  EXPECT_EQ(only("group").kind, TokenKind::kName);
  EXPECT_EQ(tokens("group bye").size(), 2U);
  EXPECT_EQ(tokens("order, by")[0].kind, TokenKind::kName);
}

TEST(QueryLexer, PercentIsAnOperatorBeforeOtherWords) {
  EXPECT_EQ(tokens("a %truest").size(), 3U);
  EXPECT_EQ(tokens("a % true").size(), 3U);
}

TEST(QueryLexer, NamesInBracketsCountInnerBrackets) {
  EXPECT_EQ(only("[//tmp/t]").text, "//tmp/t");
  EXPECT_EQ(only("[a[0][1]]").text, "a[0][1]");
  EXPECT_EQ(only("[select]").kind, TokenKind::kName);
  EXPECT_EQ(why_not("a + [b[0]"), "Error while parsing query: a name has no end at 1:5");
  EXPECT_NE(why_not("[]"), "");
}

TEST(QueryLexer, BracketsAreSymbolsFromSyntaxVersionTwoOn) {
  EXPECT_EQ(tokens("a[1]", 2).size(), 4U);
}

TEST(QueryLexer, DigitsAfterADotAreAnInteger) {
  const auto all = tokens("t.0.1", 2);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[2].kind, TokenKind::kInteger);
  EXPECT_EQ(all[4].word, 1U);
}

TEST(QueryLexer, StringsAndBackticksHaveEscapes) {
  EXPECT_EQ(only(R"('a\'b"c')").text, "a'b\"c");
  EXPECT_EQ(only(R"("\n\t\r\\\"\x41\101\z")").text, "\n\t\r\\\"AAz");
  EXPECT_EQ(only(R"("\0012")").text, std::string("\x01") + "2");
  EXPECT_EQ(only(R"(`a\`b`)").text, "a`b");
  EXPECT_EQ(why_not("'abc"), "Error while parsing query: a string has no end at 1:1");
  EXPECT_NE(why_not(R"('abc\)"), "");
  EXPECT_NE(why_not(R"('\xg1')"), "");
}

TEST(QueryLexer, QuotedTextIsReadBack) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text.push_back(static_cast<char>(byte));
  EXPECT_EQ(only(quote(text)).text, text);
  EXPECT_EQ(only(quote(text, '`')).text, text);
}

TEST(QueryLexer, UnexpectedCharactersAreRefused) {
  EXPECT_EQ(why_not("a\n  $"), "Error while parsing query: unexpected character at 2:3");
  EXPECT_NE(why_not(std::string_view("a\0b", 3)), "");
}

}  // namespace
}  // namespace moraine::query
