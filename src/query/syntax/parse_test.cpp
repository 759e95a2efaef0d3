#include "query/syntax/parse.h"

#include <gtest/gtest.h>

#include "query/syntax/format.h"

namespace moraine::query {
namespace {

// The text of the tree: every operator has its parentheses.
std::string tree(std::string_view text, int syntax_version = 1) {
  const auto node = parse_expression(text, {.syntax_version = syntax_version});
  EXPECT_TRUE(node) << text << ": " << node.error().context;
  return node ? format(*node, {.syntax_version = syntax_version}) : "";
}
SelectQuery query(std::string_view text) {
  auto result = parse_query(text);
  EXPECT_TRUE(result) << text << ": " << result.error().context;
  return result ? std::move(*result) : SelectQuery();
}

TEST(QueryParse, OperatorsBindAsInTheGrammar) {
  EXPECT_EQ(tree("a or b and c"), "a OR (b AND c)");
  EXPECT_EQ(tree("not a = b and c"), "(NOT (a = b)) AND c");
  EXPECT_EQ(tree("not a is null"), "NOT (a IS NULL)");
  EXPECT_EQ(tree("a = b is not null"), "(a = b) IS NOT NULL");
  EXPECT_EQ(tree("a = b < c"), "a = (b < c)");
  EXPECT_EQ(tree("a < b | c ^ d & e << f + g * -h"),
            "a < (b | (c ^ (d & (e << (f + (g * (-h)))))))");
  EXPECT_EQ(tree("1 - 2 - 3"), "(1 - 2) - 3");
  EXPECT_EQ(tree("a || b + c"), "(a || b) + c");
  EXPECT_EQ(tree("2 * a + b - 1"), "((2 * a) + b) - 1");
  EXPECT_EQ(tree("~-+a"), "~(-(+a))");
  EXPECT_EQ(tree("a <> b"), "a != b");
}

TEST(QueryParse, ChainsOfAndAreOneNode) {
  const auto node = parse_expression("a and b and (c and d)");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->operands.size(), 3U);
  EXPECT_EQ(node->operands[2].kind, NodeKind::kAnd);
}

TEST(QueryParse, NotTakesOneOperand) {
  EXPECT_FALSE(parse_expression("not not a"));
  EXPECT_EQ(tree("not (not a)"), "NOT (NOT a)");
}

TEST(QueryParse, LiteralsKeepTheirTypes) {
  EXPECT_EQ(tree("(1, 2u, 1.5, 1e3, 'x', true, %false, null, #, inf)"),
            "(1, 2u, 1.5, 1000.0, \"x\", true, false, null, null, inf)");
  const auto least = parse_expression("-9223372036854775808");
  ASSERT_TRUE(least);
  EXPECT_EQ(least->kind, NodeKind::kInt64);
  EXPECT_FALSE(parse_expression("9223372036854775808"));
}

TEST(QueryParse, InTakesListsTuplesAndPlaceholders) {
  EXPECT_EQ(tree("a in ()"), "a IN ()");
  EXPECT_EQ(tree("a + 1 not in (1, b)"), "(a + 1) NOT IN (1, b)");
  EXPECT_EQ(tree("(a, b) in ((1, 2), (3, 4))"), "(a, b) IN ((1, 2), (3, 4))");
  EXPECT_EQ(tree("a in {keys}"), "a IN {keys}");
  EXPECT_EQ(tree("a in (1) and b"), "(a IN (1)) AND b");
}

TEST(QueryParse, BitOperatorsBeforeInNeedParentheses) {
  EXPECT_FALSE(parse_expression("a | b in (1)"));
  EXPECT_EQ(tree("(a | b) in (1)"), "(a | b) IN (1)");
  EXPECT_EQ(tree("a = b in (1)"), "a = (b IN (1))");
}

TEST(QueryParse, BetweenTakesBoundsOrListsOfBounds) {
  EXPECT_EQ(tree("a between 1 and 2 and b"), "(a BETWEEN 1 AND 2) AND b");
  EXPECT_EQ(tree("a between (1) and (2)"), "a BETWEEN 1 AND 2");
  EXPECT_EQ(tree("a between (1) + 2 and 5"), "a BETWEEN (1 + 2) AND 5");
  EXPECT_EQ(tree("a between (b or c) and d"), "a BETWEEN (b OR c) AND d");
  EXPECT_EQ(tree("a between (not b) and d"), "a BETWEEN (NOT b) AND d");
  EXPECT_EQ(tree("a between (1, 2) and (3, 4)"), "a BETWEEN (1, 2) AND (3, 4)");
  EXPECT_EQ(tree("a between (1 and 2)"), "a BETWEEN (1 AND 2)");
  EXPECT_EQ(tree("a not between 1 and 2"), "a NOT BETWEEN 1 AND 2");
  EXPECT_EQ(tree("(a,b) between ((1) and (1, 2), (2, 3) and (2, 4), (3, 5) and (3), 4 and 5)"),
            "(a, b) BETWEEN (1 AND (1, 2), (2, 3) AND (2, 4), (3, 5) AND 3, 4 AND 5)");
}

TEST(QueryParse, LikeHasAnEscape) {
  EXPECT_EQ(tree("a like 'x%'"), "a LIKE \"x%\"");
  EXPECT_EQ(tree("a not ilike b || '%' escape '!'"), "a NOT ILIKE (b || \"%\") ESCAPE \"!\"");
  EXPECT_EQ(tree("a rlike b"), "a REGEXP b");
  EXPECT_FALSE(parse_expression("a regexp b escape 'x'"));
}

TEST(QueryParse, CaseTransformAndCast) {
  EXPECT_EQ(tree("case when a then 1 end"), "CASE WHEN a THEN 1 END");
  EXPECT_EQ(tree("case a when 1 then 2 when 3 then 4 else 5 end"),
            "CASE a WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END");
  EXPECT_EQ(tree("transform(a, (4.0, -10), (13, 17), a)"), "TRANSFORM(a, (4.0, -10), (13, 17), a)");
  EXPECT_EQ(tree("transform((a, b), ((1, 2)), (3))"), "TRANSFORM((a, b), ((1, 2)), (3))");
  EXPECT_EQ(tree("cast(a + 1 as uint64)"), "CAST(a + 1 AS uint64)");
}

TEST(QueryParse, AliasesStandInParenthesesAndLists) {
  EXPECT_EQ(tree("(a + 1 as x) * 2"), "(a + 1 AS x) * 2");
  EXPECT_EQ(tree("f(a as x, b)"), "f(a AS x, b)");
  EXPECT_FALSE(parse_expression("(a as x) as y"));
}

TEST(QueryParse, NamesMayHaveATableAndBrackets) {
  EXPECT_EQ(tree("t.a + [my.column-1] + t.[x y] + `back\\`tick`"),
            "((t.a + [my.column-1]) + t.[x y]) + [back`tick]");
}

TEST(QueryParse, MembersAndElementsFromSyntaxVersionTwoOn) {
  EXPECT_EQ(tree("t.s.m", 2), "t.s.m");
  EXPECT_EQ(tree("t.tuple.0.1", 2), "t.tuple.0.1");
  EXPECT_EQ(tree("tuple.0", 2), "tuple.0");
  EXPECT_EQ(tree("t.list[1] + t.dict['k'].x", 2), "t.list[1] + t.dict[\"k\"].x");
  EXPECT_FALSE(parse_expression("a.b.c"));
}

TEST(QueryParse, ReadsAllClauses) {
  const SelectQuery q = query(
      "a as x, sum(b) from [//tmp/t] t with hint '{x=1}' left join [//tmp/u] as u "
      "on (t.a, t.b % 2) = (u.a, u.c) and u.d > 0 join v using e, f array join t.l as m, t.n as o "
      "where a > 1 group by a % 2 as k, b having sum(b) > 3 with totals "
      "order by k desc, x asc, a offset 5 limit 10");
  EXPECT_EQ(q.projections.size(), 2U);
  EXPECT_EQ(q.from.path, "//tmp/t");
  EXPECT_EQ(q.from.alias, "t");
  EXPECT_EQ(q.from.hint, "{x=1}");
  ASSERT_EQ(q.joins.size(), 3U);
  EXPECT_TRUE(q.joins[0].left);
  EXPECT_EQ(q.joins[0].sides.size(), 2U);
  EXPECT_TRUE(q.joins[0].predicate);
  EXPECT_EQ(q.joins[1].columns.size(), 2U);
  EXPECT_EQ(q.joins[2].arrays.size(), 2U);
  EXPECT_EQ(q.group_by.size(), 2U);
  EXPECT_EQ(q.totals, Totals::kAfterHaving);
  ASSERT_EQ(q.order_by.size(), 3U);
  EXPECT_TRUE(q.order_by[0].descending);
  EXPECT_FALSE(q.order_by[1].descending);
  EXPECT_EQ(q.offset, 5U);
  EXPECT_EQ(q.limit, 10U);
}

TEST(QueryParse, TotalsStandBeforeOrAfterHaving) {
  EXPECT_EQ(query("sum(1) from t group by a with totals").totals, Totals::kBeforeHaving);
  EXPECT_EQ(query("sum(1) from t group by a with totals having b").totals, Totals::kBeforeHaving);
  EXPECT_EQ(query("sum(1) from t group by a having b with totals").totals, Totals::kAfterHaving);
}

TEST(QueryParse, SelectIsOptionalAtTheTopOnly) {
  EXPECT_EQ(query("select * from t"), query("* from t"));
  EXPECT_EQ(query("a from (select b as a from t limit 1) as s").from.subquery.size(), 1U);
  EXPECT_FALSE(parse_query("a from (b as a from t)"));
  EXPECT_EQ(query("x from (t.list as x, t.other as y)").from.arrays.size(), 2U);
}

TEST(QueryParse, AnIndexIsNamedAfterTheTable) {
  const SelectQuery q = query("* from [//t] as a with index [//i] b where a.x = 1");
  EXPECT_EQ(q.from.index_path, "//i");
  EXPECT_EQ(q.from.index_alias, "b");
}

TEST(QueryParse, AQueryInAnExpressionNeedsSelect) {
  EXPECT_EQ(tree("(select a from (l as a) limit 1) + 1"), "(SELECT a FROM (l AS a) LIMIT 1) + 1");
}

}  // namespace
}  // namespace moraine::query
