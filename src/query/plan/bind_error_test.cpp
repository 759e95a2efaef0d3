#include <gtest/gtest.h>

#include "query/plan/bind.h"
#include "query/plan/test_tables.h"

namespace moraine::query {
namespace {

Error error_of(std::string_view text, const BindOptions& options = {}) {
  const auto result = plan_query(text, test_schemas(), options);
  EXPECT_FALSE(result) << text;
  return result ? Error{} : result.error();
}
// Its first line.
std::string why_not(std::string_view text, const BindOptions& options = {}) {
  const std::string context = error_of(text, options).context;
  return context.substr(0, context.find('\n'));
}
bool is_unsupported(std::string_view text) {
  return error_of(text).code == Errc::kUnsupported;
}

TEST(QueryBindError, NamesAndPositionAreGiven) {
  EXPECT_EQ(error_of("x from [//q]").context,
            "Undefined reference \"x\" at 1:1\n  x from [//q]\n  ^");
  EXPECT_EQ(why_not("a from [//q] where t.a = 1"), "Undefined reference \"t.a\" at 1:20");
  EXPECT_EQ(why_not("a from [//q] as t"), "Undefined reference \"a\" at 1:1");
  EXPECT_EQ(why_not("count(a) from [//q] group by 1"), "Undefined function \"count\" at 1:1");
  EXPECT_EQ(error_of("* from [//none]").code, Errc::kNotFound);
}

TEST(QueryBindError, TypesDoNotMix) {
  EXPECT_EQ(why_not("i + u from [//t]"), "Type mismatch in expression: int64 and uint64 at 1:1");
  EXPECT_EQ(why_not("u = -1 from [//t]"), "Type mismatch in expression: uint64 and int64 at 1:1");
  EXPECT_EQ(why_not("i = 1.5 from [//t]"), "Type mismatch in expression: int64 and double at 1:1");
  EXPECT_NE(why_not("i in (1.5) from [//t]"), "");
  EXPECT_NE(why_not("d % 2 from [//t]"), "");
  EXPECT_NE(why_not("s + s from [//t]"), "");
  EXPECT_NE(why_not("-s from [//t]"), "");
  EXPECT_NE(why_not("~d from [//t]"), "");
  EXPECT_NE(why_not("not i from [//t]"), "");
  EXPECT_NE(why_not("i from [//t] where i"), "");
  EXPECT_NE(why_not("i like 'x' from [//t]"), "");
  EXPECT_NE(why_not("(i, u) = (1, 2, 3) from [//t]"), "");
  EXPECT_NE(why_not("(i, u) in (1, 2) from [//t]"), "");
  EXPECT_NE(why_not("(i, u) from [//t]"), "");
  EXPECT_NE(why_not("case when i then 1 end from [//t]"), "");
  EXPECT_EQ(why_not("length(i) from [//t]"), "No matching function \"length\"(int64) at 1:1");
}

TEST(QueryBindError, ClausesNeedEachOther) {
  EXPECT_EQ(why_not("a from [//q] order by b"), "ORDER BY used without LIMIT at 1:1");
  EXPECT_EQ(why_not("a from [//q] offset 3"), "OFFSET used without LIMIT at 1:1");
  EXPECT_EQ(why_not("a from [//q] group by a having a > 1 limit 3"),
            "HAVING with LIMIT is not allowed at 1:1");
  EXPECT_EQ(why_not("a from [//q] group by a having a > 1 offset 2 limit 3"),
            "HAVING with OFFSET is not allowed at 1:1");
  EXPECT_NE(why_not("* from [//q] group by a"), "");
}

TEST(QueryBindError, AggregatesNeedGroupBy) {
  EXPECT_TRUE(why_not("sum(a) from [//q]").starts_with("Misuse of aggregate function \"sum\""));
  EXPECT_TRUE(why_not("a from [//q] where sum(a) > 1").starts_with("Misuse"));
  EXPECT_TRUE(why_not("sum(sum(a)) from [//q] group by 1").starts_with("Misuse"));
  EXPECT_EQ(why_not("b from [//q] group by a"), "Undefined reference \"b\" at 1:1");
  EXPECT_EQ(why_not("sum(b), a from [//q] group by a % 2"), "Undefined reference \"a\" at 1:9");
}

TEST(QueryBindError, NamesAreUsedOnce) {
  EXPECT_EQ(why_not("a as x, b as x from [//q]"), "Alias \"x\" has been already used at 1:9");
  EXPECT_EQ(why_not("a, a from [//q]"), "Column \"a\" occurs twice in the result at 1:4");
  EXPECT_TRUE(why_not("b from [//l] join [//q] on a + 1 = a").contains("occurs in several"));
}

TEST(QueryBindError, JoinsNeedAKeyPrefix) {
  EXPECT_EQ(why_not("a from [//l] as l join [//r] as r on l.a = r.c"),
            "Foreign table key is not used in the join clause at 1:19");
  EXPECT_TRUE(plan_query("l.a from [//l] as l join [//r] as r on l.a = r.c", test_schemas(),
                         {.allow_join_without_index = true}));
  EXPECT_TRUE(why_not("a from [//l] join [//r] using a").starts_with("Undefined reference \"a\""));
}

TEST(QueryBindError, TheFirstExpressionBuilderHasNoCast) {
  EXPECT_EQ(why_not("cast(i as double) from [//t]"),
            "Function \"cast_operator\" is not supported in expression builder v1 at 1:1");
  EXPECT_NE(why_not("i in (k) from [//t]"), "");
  EXPECT_NE(why_not("i between k and 5 from [//t]"), "");
}

TEST(QueryBindError, WhatIsNotSupportedSaysSo) {
  EXPECT_TRUE(is_unsupported("i from [//t] with index [//q]"));
  EXPECT_TRUE(is_unsupported("(select a from (y as a)) from [//t]"));
  EXPECT_TRUE(is_unsupported("sleep(5) from [//t]"));
  EXPECT_TRUE(plan_query("y, is_null(y) as n from [//t]", test_schemas()));
}

TEST(QueryBindError, ValuesOfTypeAnyAreUsedAsTheirTypeSays) {
  EXPECT_EQ(why_not("y + 1 from [//t]"), "Type mismatch in expression: any and int64 at 1:1");
  EXPECT_EQ(why_not("if(f, y, i) from [//t]"),
            "No matching function \"if\"(boolean, any, int64) at 1:1");
  EXPECT_EQ(why_not("length(y) from [//t]"), "No matching function \"length\"(any) at 1:1");
  EXPECT_EQ(why_not("k, make_map('a') from [//t]"),
            "\"make_map\" takes an even number of arguments at 1:4");
  EXPECT_EQ(why_not("make_map('a', 1, i, 2) from [//t]"),
            "a key of \"make_map\" is no string but int64 at 1:18");
  EXPECT_EQ(why_not("k from [//t] array join i as x"),
            "ARRAY JOIN of a value that is no list but int64 at 1:25");
  EXPECT_EQ(why_not("k from [//t] array join y as d"), "Alias \"d\" has been already used at 1:25");
  EXPECT_EQ(why_not("k from [//t] array join y as x, y as x"),
            "Alias \"x\" has been already used at 1:33");
  EXPECT_EQ(why_not("k from [//t] array join y as x and 5"),
            "the predicate of ARRAY JOIN is not a boolean but int64 at 1:36");
  const BindOptions second{.syntax_version = 2, .expression_builder_version = 2};
  EXPECT_EQ(why_not("y.a from `//t`", second),
            "Type mismatch in expression: any has no members; try_get_any(value, path) reads "
            "values of type any at 1:1");
  EXPECT_EQ(why_not("y['a'] from `//t`", second),
            "Type mismatch in expression: any has no elements; try_get_any(value, path) reads "
            "values of type any at 1:1");
  EXPECT_EQ(why_not("none.a from `//t`", second), "Undefined reference \"none.a\" at 1:1");
  EXPECT_EQ(why_not("cast(y as `List<Int64>`) from `//t`", second),
            "CAST to \"List<Int64>\" is not supported at 1:1");
}

TEST(QueryBindError, PlaceholdersNeedAValue) {
  EXPECT_EQ(why_not("i + {x} from [//t]"), "placeholder \"x\" has no value at 1:5");
  const auto values = parse_yson("x={};l=[1]", YsonDocument::kMapFragment);
  const BindOptions options{.placeholders = values->as<YsonMap>()};
  EXPECT_NE(why_not("i + {x} from [//t]", options), "");
  EXPECT_NE(why_not("i + {l} from [//t]", options), "");
}

TEST(QueryBindError, SizesAreBounded) {
  std::string deep = "i";
  for (int level = 0; level < 60; ++level) deep += " + 1 + i";
  EXPECT_TRUE(why_not(deep + " from [//t]").contains("nested too deeply"));
  std::string text = "i";
  for (std::size_t level = 0; level < kPlanDepthMax; ++level) text = "(" + text + " + k)";
  EXPECT_TRUE(why_not(text + " from [//t]").starts_with("Maximum expression depth exceeded"));
  std::string chain = "i as x0";
  for (int level = 1; level < 3'000; ++level) {
    chain += ", x" + std::to_string(level - 1) + " as x" + std::to_string(level);
  }
  EXPECT_TRUE(why_not(chain + " from [//t]").starts_with("Maximum expression depth exceeded"));
  // Each alias names two of the one before.
  std::string doubling = "i as x0";
  for (int level = 1; level < 40; ++level) {
    doubling += ", x" + std::to_string(level - 1) + " + x" + std::to_string(level - 1) + " as x" +
                std::to_string(level);
  }
  EXPECT_NE(why_not(doubling + " from [//t]"), "");
}

}  // namespace
}  // namespace moraine::query
