#include "query/model/run.h"

#include <limits>

#include "query/model/test_run.h"
#include "query/plan/test_tables.h"
#include "yson/yson.h"

namespace moraine::query {
namespace {

const TableRows& tables() {
  static const TableRows all = [] {
    TableRows rows;
    for (int a = 9; a >= 1; --a) rows["//q"].push_back({a, 10 * a});
    rows["//l"] = {{1, 10}, {2, 20}, {3, 30}, {4, Value()}};
    rows["//r"] = {{20, 200}, {30, 300}, {Value(), 7}};
    rows["//t"] = {
        {Value(), 1, std::uint64_t{1}, 0.5, true, "x", Value(), Value()},
        {1, Value(), Value(), Value(), Value(), Value(), Value(), 5},
        {4, 2, std::uint64_t{2}, 1.5, false, "y", Value(), 6},
        {-10, 2, std::uint64_t{3}, 1.5, false, "y", Value(), 7},
        {15, 3, std::uint64_t{2}, -1.0, true, "z", Value(), Value()},
    };
    rows["//empty"] = {};
    return rows;
  }();
  return all;
}
const Schemas& schemas() {
  static const Schemas all = [] {
    Schemas result = test_schemas();
    result["//empty"] = result["//q"];
    return result;
  }();
  return all;
}
std::string run(std::string_view text, const BindOptions& options = {}) {
  const auto result = run_text(text, schemas(), tables(), options);
  EXPECT_TRUE(result) << text << ": " << result.error().context;
  return result ? *result : "failed";
}
std::string why_not(std::string_view text) {
  const auto result = run_text(text, schemas(), tables());
  return result ? "" : result.error().context;
}

TEST(QueryRun, GroupsAreSummed) {
  EXPECT_EQ(run("sum(b) as s from [//q] group by 1 as k"), "{450}");
  EXPECT_EQ(run("k, sum(b) as s from [//q] group by a % 2 as k"), "{1,250}{0,200}");
  EXPECT_EQ(run("sum(1) from [//empty] group by 1"), "");
}

TEST(QueryRun, RowsWithoutOrderAreInKeyOrder) {
  EXPECT_EQ(run("2 * a + b - 1 as s from [//q] where a < 4 limit 1000"), "{11}{23}{35}");
  EXPECT_EQ(run("* from [//q] limit 1"), "{1,10}");
  EXPECT_EQ(run("a from [//q] offset 7 limit 5"), "{8}{9}");
}

TEST(QueryRun, OrderSortsNullFirst) {
  EXPECT_EQ(run("k from [//t] order by i, k desc limit 9"), "{1}{null}{4}{-10}{15}");
  EXPECT_EQ(run("k from [//t] order by i desc, k limit 2"), "{15}{-10}");
  EXPECT_EQ(run("a from [//q] order by b desc offset 2 limit 2"), "{7}{6}");
}

TEST(QueryRun, NullKeysAreFoundByRanges) {
  EXPECT_EQ(run("s from [//t] where k = null"), "{x}");
  EXPECT_EQ(run("k from [//t] where k < 4"), "{null}{-10}{1}");
}

TEST(QueryRun, TotalsFollowTheGroups) {
  const std::string query = "x, sum(b) as t from [//q] where a > 1 group by a % 2 = 1 as x ";
  EXPECT_EQ(run(query + "with totals"), "{false,200}{true,240}{null,440}");
  EXPECT_EQ(run(query + "having t > 200 with totals"), "{true,240}{null,240}");
  EXPECT_EQ(run(query + "with totals having t > 200"), "{true,240}{null,440}");
  EXPECT_EQ(run(query + "having t > 200"), "{true,240}");
  EXPECT_EQ(run("x, sum(b) from [//empty] group by a as x with totals"), "");
}

TEST(QueryRun, TotalsAreFirstWithOrderAndNotCounted) {
  EXPECT_EQ(run("k, sum(b) from [//q] group by a % 3 as k with totals order by k limit 2"),
            "{null,450}{0,180}{1,120}");
  EXPECT_EQ(why_not("i, sum(1) from [//t] group by i with totals"),
            "Null values are forbidden in group key");
}

TEST(QueryRun, NullIsAGroup) {
  EXPECT_EQ(run("i, sum(1) from [//t] group by i order by i limit 10"), "{null,1}{1,1}{2,2}{3,1}");
}

TEST(QueryRun, AggregatesSkipNull) {
  EXPECT_EQ(run("sum(i), avg(i), min(i), max(s), first(s), cardinality(i), uniq(s), sum(1) "
                "from [//t] group by 1"),
            "{8,2,1,z,x,3u,3u,5}");
  EXPECT_EQ(run("sum(i), avg(i), min(i), cardinality(i) from [//t] where k = 1 group by 1"),
            "{null,null,null,0u}");
  EXPECT_EQ(run("argmin(s, d), argmax(s, k) from [//t] group by 1"), "{z,z}");
  EXPECT_EQ(run("sum(u) from [//t] group by 1"), "{8u}");
}

TEST(QueryRun, DistinctValuesAreCountedFromStates) {
  EXPECT_EQ(run("hll_7(i), hll_14(i), uniq(i, u), uniq(i) from [//t] group by 1"), "{3u,3u,4u,3u}");
  const std::string states =
      "(select s, cardinality_state(i) as c, uniq_state(i) as u, hll_9_state(i) as h from [//t] "
      "group by s)";
  EXPECT_EQ(
      run("cardinality_merge(c), uniq_merge(u), hll_9_merge(h) from " + states + " group by 1"),
      "{3u,3u,3u}");
  EXPECT_EQ(run("cardinality_merge(m) from (select cardinality_merge_state(c) as m from " + states +
                " group by s) group by 1"),
            "{3u}");
  EXPECT_TRUE(why_not("hll_9_merge(c) from " + states + " group by 1").contains("precision"));
  EXPECT_TRUE(why_not("uniq_merge(c) from " + states + " group by 1").contains("uniq_state"));
  EXPECT_EQ(run("cardinality(i) from [//t] group by 1", {.hyper_log_log_precision = 7}), "{3u}");
}

TEST(QueryRun, ListsHaveTheOrderOfTheRows) {
  const auto items = [&](const std::string& call) {
    const std::string row = run(call + " from [//t] group by 1");
    return write_yson(*parse_yson(row.substr(1, row.size() - 2)), YsonFormat::kText);
  };
  EXPECT_EQ(items("array_agg(i, false)"), "[1;2;#;2;3;]");
  EXPECT_EQ(items("array_agg(i, true)"), "[1;2;2;3;]");
  EXPECT_EQ(items("array_agg(s, true)"), R"(["x";"y";"y";"z";])");
  EXPECT_EQ(run("array_agg(y, true) from [//t] group by 1"), "{[]}");
}

TEST(QueryRun, SubqueriesAreJoined) {
  const std::string totals = "(select a % 2 as r, sum(1) as n from [//q] group by a % 2) as t";
  EXPECT_EQ(run("a, t.n from [//q] join " + totals + " on a = t.r"), "{1,5}");
  EXPECT_EQ(
      run("a, t.n from [//q] left join " + totals + " on a - 1 = t.r and t.n > 4 where a < 4"),
      "{1,null}{2,5}{3,null}");
  EXPECT_EQ(run("b, c from (select a, b from [//l] where a > 1) join [//r] using b"),
            "{20,200}{30,300}{null,7}");
}

TEST(QueryRun, LeftJoinsKeepEveryRow) {
  EXPECT_EQ(run("a, b, c from [//l] left join [//r] using b"),
            "{1,10,null}{2,20,200}{3,30,300}{4,null,7}");
  EXPECT_EQ(run("a, c from [//l] join [//r] using b"), "{2,200}{3,300}{4,7}");
  EXPECT_EQ(run("a, c from [//l] join [//r] using b", {.canonical_null_relations = true}),
            "{2,200}{3,300}");
  EXPECT_EQ(run("a, c from [//l] left join [//r] using b and c > 200 where a > 1"),
            "{2,null}{3,300}{4,null}");
  EXPECT_EQ(run("* from [//l] as l join [//r] as r on l.a * 10 = r.b"),
            "{2,20,20,200}{3,30,30,300}");
}

TEST(QueryRun, ConditionsOnNull) {
  EXPECT_EQ(run("k from [//t] where i > 0"), "{null}{-10}{4}{15}");
  EXPECT_EQ(run("k from [//t] where i > 0 or is_null(i)"), "{null}{-10}{1}{4}{15}");
  EXPECT_EQ(run("k + i as x from [//t] where k < 5"), "{null}{-8}{null}{6}");
  EXPECT_EQ(run("transform(k, (4.0, -10), (13, 17)) as x from [//t] where k in (4, -10, 15)"),
            "{17}{13}{null}");
}

TEST(QueryRun, BoundsOfTuples) {
  TableRows rows;
  for (int i = 0; i < 100; ++i) rows["//m"].push_back({i / 10, i % 10, i});
  const Schemas multi = {
      {"//m", make_schema({{.name = "a", .type = ColumnType::kInt64, .key = true},
                           {.name = "b", .type = ColumnType::kInt64, .key = true},
                           {.name = "c", .type = ColumnType::kInt64}})}};
  auto plan = plan_query(
      "c from [//m] where (a, b) between ((1) and (1, 2), (2, 3) and (2, 4), (3, 5) and (3), "
      "4 and 5)",
      multi);
  ASSERT_TRUE(plan) << plan.error().context;
  add_ranges(*plan);
  const auto result = run_plan(*plan, rows);
  ASSERT_TRUE(result);
  std::vector<std::int64_t> expected;
  for (const auto& [first, last] : {std::pair{10, 12}, {23, 24}, {35, 39}, {40, 59}}) {
    for (int c = first; c <= last; ++c) expected.push_back(c);
  }
  std::vector<std::int64_t> actual;
  for (const Row& row : result->rows) actual.push_back(row[0].as_int64());
  EXPECT_EQ(actual, expected);
  EXPECT_EQ(result->rows_read, expected.size());
}

TEST(QueryRun, ProjectionsAreComputedForRowsOfTheResultOnly) {
  EXPECT_EQ(run("100 / a from [//q] where a != 0 limit 2"), "{100}{50}");
  EXPECT_EQ(run("10 / (a - 9) from [//q] limit 3"), "{-1}{-1}{-1}");
  EXPECT_EQ(why_not("10 / (a - 9) from [//q]"), "Division by zero");
}

TEST(QueryRun, SubqueriesRunFirst) {
  EXPECT_EQ(run("x from (select a as x from [//q] order by a desc limit 3) where x < 9"), "{8}{7}");
  EXPECT_EQ(run("sum(s) as all from (select a % 2 as k, sum(b) as s from [//q] group by k) "
                "group by 1"),
            "{450}");
  EXPECT_EQ(run("k, s from (select k, sum(b) as s from [//q] group by a % 2 as k with totals) "
                "where is_null(k)"),
            "{null,450}");
}

TEST(QueryRun, NanIsNoKey) {
  EXPECT_EQ(why_not("sum(1) from [//t] group by (d - d) / (d - d) as x"), "Comparison with NaN");
  EXPECT_EQ(why_not("k from [//t] order by (d - d) / (d - d) limit 3"), "Comparison with NaN");
}

TEST(QueryRun, TablesWithoutRowsGivenFail) {
  EXPECT_EQ(run_text("* from [//q]", schemas(), {}).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace moraine::query
