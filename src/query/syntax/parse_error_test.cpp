#include <gtest/gtest.h>

#include "query/syntax/parse.h"
#include "query/syntax/source_error.h"

namespace moraine::query {
namespace {

std::string why_not(std::string_view text) {
  const auto result = parse_query(text);
  return result ? "" : result.error().context;
}
std::string repeat(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(QueryParseError, GivesLineColumnAndACaret) {
  EXPECT_EQ(why_not("a, b\nfrom [//t] where a + ) > 1"),
            "Error while parsing query: unexpected \")\", expected an expression at 2:22\n"
            "  from [//t] where a + ) > 1\n"
            "                       ^");
  EXPECT_EQ(why_not("abcdef"),
            "Error while parsing query: unexpected end of text, expected FROM at 1:7\n"
            "  abcdef\n"
            "        ^");
}

TEST(QueryParseError, CutsLongLinesAroundThePlace) {
  const std::string error = why_not("a from t where " + repeat("a = 1 or ", 100) + ")");
  const std::size_t excerpt = error.find('\n') + 3;
  const std::size_t caret = error.rfind('^') - error.rfind('\n') - 3;
  EXPECT_EQ(error[excerpt + caret], ')') << error;
  EXPECT_LT(error.size(), 3 * kExcerptBytesMax) << error;
}

TEST(QueryParseError, ControlBytesDoNotMoveTheCaret) {
  EXPECT_EQ(why_not("a\tfrom\t)"),
            "Error while parsing query: unexpected \")\", expected a table at 1:8\n"
            "  a from )\n"
            "         ^");
}

TEST(QueryParseError, ClausesHaveAFixedOrder) {
  EXPECT_TRUE(why_not("a from t limit 1 offset 2").contains("OFFSET stands before LIMIT"));
  EXPECT_TRUE(why_not("a from t having b").contains("HAVING used without GROUP BY"));
  EXPECT_NE(why_not("a from t order by a where b"), "");
  EXPECT_NE(why_not("a from t limit -1"), "");
  EXPECT_TRUE(why_not("a from t limit 9223372036854775806").contains("Maximum LIMIT exceeded"));
  EXPECT_EQ(why_not("a from t limit 9223372036854775805"), "");
}

TEST(QueryParseError, DepthIsBounded) {
  for (const std::string_view open :
       {"(", "-", "f(", "case when ", "cast(", "a between (", "a in (", "(select a from t where ",
        "transform(", "not (", "a + ("}) {
    const std::string text = "a from t where " + repeat(open, 10'000);
    EXPECT_TRUE(why_not(text).contains("nested too deeply")) << open << why_not(text);
  }
  const std::string nested = repeat("(", 10'000) + "a" + repeat(")", 10'000);
  EXPECT_TRUE(why_not(nested + " from t").contains("nested too deeply"));
  EXPECT_TRUE(why_not(repeat("a from (select ", 10'000)).contains("nested too deeply"));
  EXPECT_TRUE(why_not("a from t where a" + repeat(" + a", 10'000)).contains("nested too deeply"));
}

TEST(QueryParseError, DepthAddsUpThroughSubqueries) {
  std::string text = "a";
  for (int level = 0; level < 4; ++level) {
    text = "(select a from (l as a) where " + text + repeat(" + a", 30) + ")";
  }
  EXPECT_TRUE(why_not("a from t where " + text).contains("nested too deeply"));
}

TEST(QueryParseError, LongChainsOfAndAreAllowed) {
  EXPECT_EQ(why_not("a from t where a = 1" + repeat(" or a = 1", 10'000)), "");
}

TEST(QueryParseError, LengthIsBounded) {
  EXPECT_TRUE(why_not(std::string(kQueryBytesMax + 1, ' ')).contains("longer than"));
  EXPECT_TRUE(why_not("a from t where a in (1" + repeat(",1", kQueryNodesMax) + ")")
                  .contains("too many parts"));
}

TEST(QueryParseError, SyntaxVersionIsChecked) {
  EXPECT_FALSE(parse_query("a from t", {.syntax_version = 0}));
  EXPECT_FALSE(parse_query("a from t", {.syntax_version = 4}));
}

}  // namespace
}  // namespace moraine::query
