#include "query/plan/bind.h"

#include <gtest/gtest.h>

#include "query/plan/test_tables.h"
#include "query/syntax/parse.h"

namespace moraine::query {
namespace {

std::string plan(std::string_view text, const BindOptions& options = {}) {
  const auto result = plan_query(text, test_schemas(), options);
  EXPECT_TRUE(result) << text << ": " << result.error().context;
  return result ? "\n" + describe(result->root) : "";
}
// The first projection, over //t.
std::string bound(std::string_view text, const BindOptions& options = {}) {
  const auto result = plan_query(std::string(text) + " from [//t]", test_schemas(), options);
  EXPECT_TRUE(result) << text << ": " << result.error().context;
  if (!result) return "";
  const auto& project = std::get<Project>(result->root.step);
  return describe(project.columns[0], result->root.inputs[0].columns) + ":" +
         std::string(to_string(result->root.columns[0].type));
}

TEST(QueryBind, LiteralsTakeTheTypeOfTheOtherSide) {
  EXPECT_EQ(bound("i + 1"), "(i + 1):int64");
  EXPECT_EQ(bound("1 + u"), "(1u + u):uint64");
  EXPECT_EQ(bound("d * 2"), "(d * 2d):double");
  EXPECT_EQ(bound("d > 2u"), "(d > 2d):boolean");
  EXPECT_EQ(bound("u = 1 + 1"), "(u = 2u):boolean");
  EXPECT_EQ(bound("i = null"), "(i = null):boolean");
  EXPECT_EQ(bound("i + null"), "(i + null):int64");
  EXPECT_EQ(bound("if(f, 1, 2.5)"), "if(f, 1d, 2.5d):double");
  EXPECT_EQ(bound("u in (1, 2u, 3.0)"), "in[1](u, 1u, 2u, 3u):boolean");
}

TEST(QueryBind, ConstantsAreFoldedUnlessThatFails) {
  EXPECT_EQ(bound("1 + 2 * 3"), "7:int64");
  EXPECT_EQ(bound("-5"), "-5:int64");
  EXPECT_EQ(bound("'a' || 'b'"), "\"ab\":string");
  EXPECT_EQ(bound("length('abc') = 3"), "true:boolean");
  EXPECT_EQ(bound("i + (2 - 1)"), "(i + 1):int64");
  EXPECT_EQ(bound("1 / 0"), "(1 / 0):int64");
  EXPECT_EQ(bound("if(f, 1 / 0, 2)"), "if(f, (1 / 0), 2):int64");
  EXPECT_EQ(bound("farm_hash('hello')"), "2255200014092086422u:uint64");
}

TEST(QueryBind, TestsAndFunctions) {
  EXPECT_EQ(bound("i not in (1, 2)"), "not(in[1](i, 1, 2)):boolean");
  EXPECT_EQ(bound("i in ()"), "in[1](i):boolean");
  EXPECT_EQ(bound("(i, s) in ((1, 'x'), (2, 'y'))"), "in[2](i, s, 1, \"x\", 2, \"y\"):boolean");
  EXPECT_EQ(bound("(i, u) between ((1) and (1, 2), 3 and 4)"),
            "between[2](i, u, 1, 1, 2u, 3, 4):boolean");
  EXPECT_EQ(bound("s like 'a%'"), "(s LIKE \"a%\"):boolean");
  EXPECT_EQ(bound("i is not null"), "not(is_null(i)):boolean");
  EXPECT_EQ(bound("(i, k) < (1, 2)"), "<[2](i, k, 1, 2):boolean");
  EXPECT_EQ(bound("transform(i, (4.0, -10), (13, 17))"),
            "transform[1](i, 4, -10, 13, 17, null):int64");
  EXPECT_EQ(bound("case i when 1 then 'a' else s end"), "case[1](i, 1, \"a\", s):string");
}

TEST(QueryBind, CastNeedsTheSecondExpressionBuilder) {
  const BindOptions second{.expression_builder_version = 2};
  EXPECT_EQ(bound("cast(i as double)", second), "double(i):double");
  EXPECT_EQ(bound("cast(s as int64)", second), "parse_int64(s):int64");
  EXPECT_EQ(bound("cast(i as string)", second), "numeric_to_string(i):string");
  EXPECT_EQ(bound("i in (k, 1)", second), "in[1](i, k, 1):boolean");
}

TEST(QueryBind, PlaceholdersAreScalarsOrLists) {
  const auto values = parse_yson("x=5;list=[1;2];pairs=[[1;a];[2;b]]", YsonDocument::kMapFragment);
  ASSERT_TRUE(values);
  const BindOptions options{.placeholders = values->as<YsonMap>()};
  EXPECT_EQ(bound("i + {x}", options), "(i + 5):int64");
  EXPECT_EQ(bound("i in {list}", options), "in[1](i, 1, 2):boolean");
  EXPECT_EQ(bound("(i, s) in {pairs}", options), "in[2](i, s, 1, \"a\", 2, \"b\"):boolean");
}

TEST(QueryBind, ScansReadOnlyTheColumnsThatAreUsed) {
  EXPECT_EQ(plan("u from [//t] where s = 'x'"), R"(
project u = u
  filter (s = "x")
    scan //t [u:uint64, s:string] [..+]
)");
  EXPECT_EQ(plan("sum(1) as n from [//t] group by 1"), R"(
project n = sum(1)
  group by 1, sum(1)
    scan //t [] [..+]
)");
  EXPECT_EQ(plan("* from [//q]"), R"(
project a = a, b = b
  scan //q [a:int64, b:int64] [..+]
)");
}

TEST(QueryBind, AliasesAreSeenInAllClauses) {
  EXPECT_EQ(plan("a % 2 as x, sum(b) as t from [//q] where y > 1 group by x, a + 1 as y "
                 "having t > 200 with totals order by t desc, x offset 1 limit 5"),
            R"(
project x = x, t = sum(b)
  limit 5 offset 1
    order by sum(b) desc, x
      group by (a % 2), (a + 1), sum(b) having (sum(b) > 200) totals
        filter ((a + 1) > 1)
          scan //q [a:int64, b:int64] [..+]
)");
}

TEST(QueryBind, AnAliasInsideItsOwnExpressionIsAColumn) {
  EXPECT_EQ(bound("i + 1 as i"), "(i + 1):int64");
  EXPECT_EQ(plan("sum(b) as b from [//q] group by a % 2 as a"), R"(
project b = sum(b)
  group by (a % 2), sum(b)
    scan //q [a:int64, b:int64] [..+]
)");
}

TEST(QueryBind, AColumnIsMeantWhereItsAliasWouldBeAnAggregate) {
  EXPECT_EQ(plan("sum(b) as b from [//q] where b > 1 group by 1 having b > 5 order by sum(b) "
                 "limit 3"),
            R"(
project b = sum(b)
  limit 3 offset 0
    order by sum(b)
      group by 1, sum(b) having (sum(b) > 5)
        filter (b > 1)
          scan //q [b:int64] [..+]
)");
}

TEST(QueryBind, GroupsShowKeysAndAggregatesOnly) {
  EXPECT_EQ(plan("a % 2, sum(b) + sum(b) from [//q] group by a % 2"), R"(
project a % 2 = a % 2, sum(b) + sum(b) = (sum(b) + sum(b))
  group by (a % 2), sum(b)
    scan //q [a:int64, b:int64] [..+]
)");
  EXPECT_EQ(plan("k, avg(a) from [//q] group by a % 2 as k with totals having k = 1"), R"(
project k = k, avg(a) = avg(a)
  group by (a % 2), avg(a) having (k = 1) totals of all
    scan //q [a:int64] [..+]
)");
}

TEST(QueryBind, NumbersOfProjectionsNeedTheThirdSyntax) {
  const BindOptions third{.syntax_version = 3};
  EXPECT_EQ(plan("a % 2 as x, sum(b) from `//q` group by 1 order by 2 limit 3", third), R"(
project x = 1, sum(b) = sum(b)
  limit 3 offset 0
    order by sum(b)
      group by (a % 2), sum(b)
        scan //q [a:int64, b:int64] [..+]
)");
}

TEST(QueryBind, JoinsLookUpTheKeyOfTheOtherTable) {
  EXPECT_EQ(plan("a, b, c from [//l] left join [//r] using b where a > 1 and c = 2"), R"(
project a = a, b = b, c = c
  filter (c = 2)
    left join (b) = (b) by 1 key columns
      filter (a > 1)
        scan //l [a:int64, b:int64] [..+]
      scan //r [b:int64, c:int64] [..+]
)");
  EXPECT_EQ(plan("x.a, y.c from [//l] as x join [//r] as y on x.b + 1 = y.b and y.c > 5"), R"(
project x.a = a, y.c = c
  join ((b + 1)) = (b) by 1 key columns
    scan //l [a:int64, b:int64] [..+]
    filter (c > 5)
      scan //r [b:int64, c:int64] [..+]
)");
}

TEST(QueryBind, HashColumnsCountForTheKeyOfAJoin) {
  EXPECT_EQ(plan("l.a, h.v from [//l] as l join [//h] as h on l.b = h.b"), R"(
project l.a = a, h.v = v
  join (b) = (b) by 2 key columns
    scan //l [a:int64, b:int64] [..+]
    scan //h [b:int64, v:string] [..+]
)");
}

TEST(QueryBind, ThePredicateOfAJoinSeesTheColumnsOfUsing) {
  EXPECT_EQ(plan("a, c from [//l] join [//r] using b and b > 1"), R"(
project a = a, c = c
  join (b) = (b) by 1 key columns
    scan //l [a:int64, b:int64] [..+]
    filter (b > 1)
      scan //r [b:int64, c:int64] [..+]
)");
}

TEST(QueryBind, AConstantIsNoKeyOfGroupBy) {
  EXPECT_TRUE(plan_query("k between 1 and (-1) as x from [//q] group by 1 as k", test_schemas()));
  const auto result =
      plan_query("1 + (-2) as x from [//q] group by 1 as k, (-2) as l", test_schemas());
  ASSERT_TRUE(result) << result.error().context;
  EXPECT_TRUE(std::get<Project>(result->root.step).columns[0].is_literal());
}

std::string columns(std::string_view text) {
  const auto result = plan_query(text, test_schemas());
  EXPECT_TRUE(result) << text << ": " << result.error().context;
  std::string names;
  if (!result) return names;
  for (const PlanColumn& column : result->root.columns) names += column.name + ";";
  return names;
}

TEST(QueryBind, OutputColumnsAreNamedAsInTheText) {
  EXPECT_EQ(columns("a, a + 1, b as x, sum from [//q] where (a as sum) > 0"), "a;a + 1;x;sum;");
  EXPECT_EQ(columns("* from [//l] join [//r] using b"), "a;b;c;");
  EXPECT_EQ(columns("* from [//l] as l join [//r] as r on l.b = r.b"), "l.a;l.b;r.b;r.c;");
  EXPECT_EQ(columns("* from [//q] as q"), "q.a;q.b;");
  EXPECT_EQ(columns("[odd.name] + 1 from [//t]"), "[odd.name] + 1;");
}

TEST(QueryBind, SubqueriesAreSources) {
  EXPECT_EQ(columns("k_2 from (select a as k_2, b from [//q] limit 1)"), "k_2;");
  EXPECT_EQ(columns("B.[A.a] from (select A.a from [//q] as A) as B"), "B.A.a;");
  EXPECT_EQ(plan("x from (select a as x, b from [//q] where b = 1) where x > 2"), R"(
project x = x
  filter (x > 2)
    project x = a, b = b
      filter (b = 1)
        scan //q [a:int64, b:int64] [..+]
)");
}

TEST(QueryBind, NamesTheTablesOfAQuery) {
  const auto query = parse_query(
      "* from (select a from [//q] join [//r] using a) as x join [//l] on x.a = a join [//q] using "
      "a");
  ASSERT_TRUE(query);
  EXPECT_EQ(table_paths(*query), (std::vector<std::string>{"//l", "//q", "//r"}));
}

}  // namespace
}  // namespace moraine::query
