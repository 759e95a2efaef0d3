#include "query/syntax/format.h"

#include <gtest/gtest.h>

#include "query/syntax/parse.h"
#include "query/syntax/random_tree.h"

namespace moraine::query {
namespace {

TEST(QueryFormat, ParsingAFormattedExpressionGivesTheSameTree) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const int version = 1 + static_cast<int>(seed % 2);
    RandomTree random(seed, version);
    const Node node = random.node(static_cast<int>(seed % 5));
    const std::string text = format(node, {.syntax_version = version});
    // The alias of the whole needs parentheses.
    const auto parsed = parse_expression("(" + text + ")", {.syntax_version = version});
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << text << "\n" << parsed.error().context;
    ASSERT_EQ(*parsed, node) << "seed " << seed << ": " << text;
  }
}

TEST(QueryFormat, ParsingAFormattedQueryGivesTheSameTree) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    RandomTree random(seed);
    const SelectQuery query = random.query(static_cast<int>(seed % 4));
    const std::string text = format(query);
    const auto parsed = parse_query(text);
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << text << "\n" << parsed.error().context;
    ASSERT_EQ(*parsed, query) << "seed " << seed << ": " << text;
    ASSERT_EQ(format(*parsed), text);
  }
}

std::string name_of(std::string_view text) {
  const auto query = parse_query(std::string(text) + " from t");
  EXPECT_TRUE(query) << text;
  return query ? output_name(query->projections[0]) : "";
}

TEST(QueryFormat, OutputColumnsAreNamedByAliasColumnOrText) {
  EXPECT_EQ(name_of("a"), "a");
  EXPECT_EQ(name_of("t.a"), "t.a");
  EXPECT_EQ(name_of("[my.column-1]"), "my.column-1");
  EXPECT_EQ(name_of("a + 1 as x"), "x");
  EXPECT_EQ(name_of("sum( 1 )"), "sum(1)");
  EXPECT_EQ(name_of("a%2"), "a % 2");
  EXPECT_EQ(name_of("[my.column-1] + x"), "[my.column-1] + x");
  EXPECT_EQ(name_of("(a as x) + 1"), "a + 1");
}

}  // namespace
}  // namespace moraine::query
