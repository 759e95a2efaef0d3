#include "query/ranges/infer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expression/farm_hash.h"
#include "query/plan/test_tables.h"

namespace moraine::query {
namespace {

TableSchema schema_of(std::vector<ColumnSchema> columns) {
  TableSchema schema;
  schema.columns = std::move(columns);
  return schema;
}
ColumnSchema key(std::string name, ColumnType type = ColumnType::kInt64,
                 std::string expression = "") {
  return {.name = std::move(name), .type = type, .key = true, .expression = std::move(expression)};
}
TableSchema three_keys() {
  return schema_of({key("a"), key("b"), key("c"), {.name = "v", .type = ColumnType::kInt64}});
}

std::string ranges(std::string_view condition, const TableSchema& schema = three_keys(),
                   std::size_t ranges_max = kRangesMax) {
  static table::TextMemory texts;
  std::vector<PlanColumn> columns;
  std::vector<std::size_t> positions;
  for (const ColumnSchema& column : schema.columns) {
    positions.push_back(columns.size());
    columns.push_back({.name = column.name, .type = physical_type(column.type)});
  }
  const auto node = parse_expression(condition);
  EXPECT_TRUE(node) << condition;
  if (!node) return "";
  const auto predicate = bind_expression(*node, condition, columns, texts);
  EXPECT_TRUE(predicate) << condition << predicate.error().context;
  if (!predicate) return "";
  const RangeSet set = infer_ranges(*predicate, positions, schema, texts, ranges_max);
  std::string out;
  for (const KeyRange& range : set.ranges) out += describe(range) + " ";
  return out + (set.exact ? "exact" : "cover");
}

TEST(QueryRanges, PointsExtendThePrefix) {
  EXPECT_EQ(ranges("a = 1"), "[1..1+] exact");
  EXPECT_EQ(ranges("a = 1 and b in (3, 4)"), "[1,3..1,3+] [1,4..1,4+] exact");
  EXPECT_EQ(ranges("(a, b) in ((1, 2), (0, 5))"), "[0,5..0,5+] [1,2..1,2+] exact");
  EXPECT_EQ(ranges("(b, a) = (2, 1)"), "[1,2..1,2+] exact");
  EXPECT_EQ(ranges("1 = a"), "[1..1+] exact");
}

TEST(QueryRanges, AnIntervalEndsThePrefix) {
  EXPECT_EQ(ranges("a = 1 and b between 20 and 30 and c between 40 and 60"), "[1,20..1,30+] cover");
  EXPECT_EQ(ranges("a = 1 and b = 2 and c between 40 and 60 or a between 10 and 20"),
            "[1,2,40..1,2,60+] [10..20+] exact");
  EXPECT_EQ(ranges("a = 1 and b > 5 or a = 2"), "[1,5+..1+] [2..2+] exact");
  EXPECT_EQ(ranges("a > 1 and b = 3"), "[1+..+] cover");
}

TEST(QueryRanges, NullIsTheLeastValue) {
  EXPECT_EQ(ranges("a < 5"), "[..5] exact");
  EXPECT_EQ(ranges("a = null"), "[null..null+] exact");
  EXPECT_EQ(ranges("a is not null"), "[null+..+] exact");
  EXPECT_EQ(ranges("a != 3"), "[..3] [3+..+] exact");
}

TEST(QueryRanges, NotIsPushedToTheLeaves) {
  EXPECT_EQ(ranges("not (a < 5)"), "[5..+] exact");
  EXPECT_EQ(ranges("not (a = 1 or a = 3)"), "[..1] [1+..3] [3+..+] exact");
  EXPECT_EQ(ranges("a not in (1, 3)"), "[..1] [1+..3] [3+..+] exact");
  EXPECT_EQ(ranges("not (a = 1 and v = 2)"), "[..+] cover");
  EXPECT_EQ(ranges("not ((a, v) in ((1, 2)))"), "[..+] cover");
  EXPECT_EQ(ranges("not (a between 1 and 5)"), "[..1] [5+..+] exact");
}

TEST(QueryRanges, WhatIsNotUnderstoodIsLeftToTheFilter) {
  EXPECT_EQ(ranges("v = 1"), "[..+] cover");
  EXPECT_EQ(ranges("a + 1 = 5"), "[..+] cover");
  EXPECT_EQ(ranges("a = 1 and v = 2"), "[1..1+] cover");
  EXPECT_EQ(ranges("a = 1 or v = 2"), "[..+] cover");
  EXPECT_EQ(ranges("b = 1"), "[..+] cover");
  EXPECT_EQ(ranges("a = b"), "[..+] cover");
  EXPECT_EQ(ranges("true"), "[..+] exact");
  EXPECT_EQ(ranges("a = 1 and false"), "exact");
  EXPECT_EQ(ranges("a in ()"), "exact");
  EXPECT_EQ(ranges("a = 1 and a = 2"), "exact");
}

TEST(QueryRanges, BoundsOfTuplesMayBePrefixes) {
  EXPECT_EQ(ranges("(a, b) between ((1) and (1, 2), (2, 3) and (2, 4), (3, 5) and (3), 4 and 5)"),
            "[1..1,2+] [2,3..2,4+] [3,5..3+] [4..5+] exact");
  EXPECT_EQ(ranges("(a, b) < (5, 7)"), "[..5,7] exact");
  EXPECT_EQ(ranges("(a, b) >= (5, 7)"), "[5,7..+] exact");
}

TEST(QueryRanges, TextsHavePrefixes) {
  const TableSchema schema = schema_of({key("s", ColumnType::kString), key("b")});
  EXPECT_EQ(ranges("is_prefix('ab', s)", schema), "[\"ab\"..\"ac\"] exact");
  EXPECT_EQ(ranges("is_prefix('a\\xff', s)", schema), "[\"a\\xff\"..\"b\"] exact");
  EXPECT_EQ(ranges("is_prefix('\\xff', s)", schema), "[\"\\xff\"..+] exact");
  EXPECT_EQ(ranges("not is_prefix('ab', s)", schema), "[null+..\"ab\"] [\"ac\"..+] exact");
  EXPECT_EQ(ranges("s like 'ab\\\\%c%'", schema), "[\"ab%c\"..\"ab%d\"] cover");
  EXPECT_EQ(ranges("s ilike 'ab%'", schema), "[..+] cover");
  EXPECT_EQ(ranges("s like '_b'", schema), "[\"\"..+] cover");
}

TEST(QueryRanges, HashColumnsAreComputedFromFixedColumns) {
  const TableSchema schema =
      schema_of({key("h", ColumnType::kUint64, "farm_hash(a, b) % 3"), key("a"), key("b")});
  const Value arguments[] = {1, 2};
  const auto hash = farm_hash(arguments) % 3;
  EXPECT_EQ(ranges("a = 1 and b = 2", schema), fmt::format("[{0}u,1,2..{0}u,1,2+] exact", hash));
  EXPECT_EQ(ranges("a = 1", schema),
            "[null,1..null,1+] [0u,1..0u,1+] [1u,1..1u,1+] [2u,1..2u,1+] exact");
  EXPECT_EQ(ranges("h = 2 and a = 1", schema), "[2u,1..2u,1+] exact");
  EXPECT_EQ(ranges("b = 2", schema), "[..+] cover");
}

TEST(QueryRanges, DividedColumnsAreEnumeratedByQuotient) {
  const TableSchema schema = schema_of({key("h", ColumnType::kInt64, "a / 10"), key("a")});
  EXPECT_EQ(ranges("a between 5 and 25", schema), "[0,5..0,25+] [1,5..1,25+] [2,5..2,25+] exact");
  EXPECT_EQ(ranges("a between -25 and 5", schema),
            "[-2,-25..-2,5+] [-1,-25..-1,5+] [0,-25..0,5+] exact");
  EXPECT_EQ(ranges("a = 17", schema), "[1,17..1,17+] exact");
  EXPECT_EQ(ranges("a > 5", schema), "[..+] cover");
}

TEST(QueryRanges, TheNumberIsBounded) {
  EXPECT_EQ(ranges("a in (1, 3) and b in (5, 7)", three_keys(), 4),
            "[1,5..1,5+] [1,7..1,7+] [3,5..3,5+] [3,7..3,7+] exact");
  EXPECT_EQ(ranges("a in (1, 3) and b in (5, 7)", three_keys(), 3), "[1..1+] [3..3+] cover");
  EXPECT_EQ(ranges("a in (1, 3) and b in (5, 7)", three_keys(), 1), "[..+] cover");
}

TEST(QueryRanges, LongListsTakeLittleTime) {
  std::string list = "0";
  for (int i = 1; i < 20'000; ++i) list += "," + std::to_string(i * 7 % 20'000);
  const std::string condition = "a in (" + list + ") and b in (" + list + ")";
  EXPECT_FALSE(ranges(condition).empty());
  EXPECT_FALSE(ranges("a not in (" + list + ") or a = 5").empty());
}

TEST(QueryRanges, ScansOfAPlanGetTheirRanges) {
  auto plan = plan_query("b from [//q] where a in (2, 1) and b > 3", test_schemas());
  ASSERT_TRUE(plan) << plan.error().context;
  add_ranges(*plan);
  EXPECT_EQ("\n" + describe(plan->root), R"(
project b = b
  filter (in[1](a, 2, 1) and (b > 3))
    scan //q [a:int64, b:int64] [1..1+] [2..2+]
)");
  EXPECT_FALSE(scans_whole_table(plan->root));
  EXPECT_TRUE(refuse_full_scan(plan->root));
}

TEST(QueryRanges, FullScansAreRefusedOnDemand) {
  const auto refusal = [](std::string_view text) {
    auto plan = plan_query(text, test_schemas());
    EXPECT_TRUE(plan) << text << plan.error().context;
    add_ranges(*plan);
    const auto result = refuse_full_scan(plan->root);
    return result ? "" : result.error().context;
  };
  constexpr std::string_view kRefused = "Primary table key is not used in the where clause";
  EXPECT_EQ(refusal("* from [//q]"), kRefused);
  EXPECT_EQ(refusal("* from [//q] where b = 1"), kRefused);
  EXPECT_EQ(refusal("* from [//q] where a = 1 or b = 1"), kRefused);
  EXPECT_EQ(refusal("* from [//q] where a > 1"), "");
  EXPECT_EQ(refusal("* from [//l] join [//r] using b where a = 1"), "");
}

TEST(QueryRanges, BoundsAreEncodedAsKeys) {
  const KeyRange whole;
  EXPECT_EQ(encode_range(whole).from, "");
  EXPECT_EQ(encode_range(whole).to, "");
  const KeyRange range{.from = {.prefix = {1}, .after = true}, .to = {.prefix = {3, "x"}}};
  const Value one[] = {1};
  const Value three[] = {3, "x"};
  EXPECT_EQ(encode_range(range).from, table::encode_key(one) + "\xff");
  EXPECT_EQ(encode_range(range).to, table::encode_key(three));
}

}  // namespace
}  // namespace moraine::query
