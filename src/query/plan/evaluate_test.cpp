#include "query/plan/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "expression/expression.h"
#include "io/random.h"
#include "query/plan/bind.h"

namespace moraine::query {
namespace {

const std::vector<PlanColumn>& columns() {
  static const std::vector<PlanColumn> all = {{"i", ValueType::kInt64},  {"u", ValueType::kUint64},
                                              {"d", ValueType::kDouble}, {"f", ValueType::kBoolean},
                                              {"s", ValueType::kString}, {"n", ValueType::kInt64}};
  return all;
}
std::vector<Value> row() {
  return {-7, std::uint64_t{10}, 2.5, true, "hello", Value()};
}
table::TextMemory& memory() {
  static table::TextMemory texts;
  return texts;
}
Result<Value> result_of(std::string_view text, const BindOptions& options = {},
                        const std::vector<Value>& values = row()) {
  TRY(const Node node, parse_expression(text));
  TRY(const Expression expression, bind_expression(node, text, columns(), memory(), options));
  return evaluate(expression, values, memory());
}
Value eval(std::string_view text, const BindOptions& options = {}) {
  const auto result = result_of(text, options);
  EXPECT_TRUE(result) << text << ": " << result.error().context;
  return result ? *result : Value("failed");
}
std::string why_not(std::string_view text) {
  const auto result = result_of(text);
  return result ? "" : result.error().context;
}

TEST(QueryEvaluate, Arithmetic) {
  EXPECT_EQ(eval("i / 2"), Value(-3));
  EXPECT_EQ(eval("i % 2"), Value(-1));
  EXPECT_EQ(eval("u - 11"), Value(~std::uint64_t{0}));
  EXPECT_EQ(eval("i << 1 | 1"), Value(-13));
  EXPECT_EQ(eval("d / 0"), Value(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(eval("s || '!'"), Value("hello!"));
  EXPECT_EQ(eval("i + n"), Value());
  EXPECT_EQ(why_not("i / 0"), "Division by zero");
  EXPECT_EQ(why_not("-9223372036854775808 / (i + 6)"), "Division overflow");
}

TEST(QueryEvaluate, NullEqualsNullAndIsLeast) {
  EXPECT_EQ(eval("n = null"), Value(true));
  EXPECT_EQ(eval("n != 0"), Value(true));
  EXPECT_EQ(eval("n > 0"), Value(false));
  EXPECT_EQ(eval("n < i"), Value(true));
  EXPECT_EQ(eval("n in (1, null)"), Value(true));
  EXPECT_EQ(eval("(i, n) in ((-7, null))"), Value(true));
  EXPECT_EQ(eval("n between null and 1"), Value(true));
}

TEST(QueryEvaluate, CanonicalNullRelationsGiveNull) {
  const BindOptions canonical{.canonical_null_relations = true};
  EXPECT_EQ(eval("n = null", canonical), Value());
  EXPECT_EQ(eval("n < 1", canonical), Value());
  EXPECT_EQ(eval("i in (1, null)", canonical), Value());
  EXPECT_EQ(eval("i in (-7, null)", canonical), Value(true));
  EXPECT_EQ(eval("(n, i) = (1, 5)", canonical), Value(false));
  EXPECT_EQ(eval("(i, n) < (5, 1)", canonical), Value(true));
  EXPECT_EQ(eval("is_null(n)", canonical), Value(true));
}

TEST(QueryEvaluate, LogicIsThreeValued) {
  EXPECT_EQ(eval("null or true"), Value(true));
  EXPECT_EQ(eval("null and false"), Value(false));
  EXPECT_EQ(eval("null and f"), Value());
  EXPECT_EQ(eval("not null"), Value());
  EXPECT_EQ(eval("if(null, 1, 2)"), Value());
  EXPECT_EQ(eval("f or i / 0 = 1"), Value(true));
  EXPECT_EQ(eval("if(f, 1, i / 0)"), Value(1));
  EXPECT_EQ(eval("if_null(n, 3)"), Value(3));
  EXPECT_EQ(eval("coalesce(n, n, i, i / 0)"), Value(-7));
}

TEST(QueryEvaluate, TuplesAreComparedFromLeftToRight) {
  EXPECT_EQ(eval("(i, u) < (-7, 11)"), Value(true));
  EXPECT_EQ(eval("(i, u) between (-8, 0) and (-7, 9)"), Value(false));
  EXPECT_EQ(eval("(i, u) between (-8) and (-7)"), Value(true));
  EXPECT_EQ(eval("(i, u) between ((1) and (2), (-7, 10) and (-7))"), Value(true));
}

TEST(QueryEvaluate, ListsAndPatterns) {
  EXPECT_EQ(eval("i in ()"), Value(false));
  EXPECT_EQ(eval("i not in ()"), Value(true));
  EXPECT_EQ(eval("s like 'h%o'"), Value(true));
  EXPECT_EQ(eval("s not ilike 'H%'"), Value(false));
  EXPECT_EQ(eval("s rlike 'h.*'"), Value(true));
  EXPECT_EQ(eval("s regexp 'h'"), Value(false));
  EXPECT_EQ(eval("'a%' like 'a!%' escape '!'"), Value(true));
  EXPECT_EQ(eval("null like s"), Value());
  EXPECT_EQ(eval("transform(i, (4.0, -7), (13, 17))"), Value(17));
  EXPECT_EQ(eval("transform(i, (4), (13), -1)"), Value(-1));
  EXPECT_EQ(eval("transform(i, (4), (13))"), Value());
  EXPECT_EQ(eval("transform((i, s), ((-7, 'hello')), ('x'))"), Value("x"));
  EXPECT_EQ(eval("case i when 1 then 'a' when -7 then 'b' end"), Value("b"));
  EXPECT_EQ(eval("case when n > 0 then 1 when f then 2 else 3 end"), Value(2));
  EXPECT_EQ(eval("case when n > 0 then 1 end"), Value());
}

TEST(QueryEvaluate, NanIsNotComparable) {
  const std::string nan = "(d - d) / (d - d)";
  EXPECT_EQ(why_not(nan + " = 1.0"), "Comparison with NaN");
  EXPECT_EQ(why_not(nan + " in (1.0)"), "Comparison with NaN");
  EXPECT_EQ(eval("is_nan(" + nan + ")"), Value(true));
  EXPECT_EQ(eval("is_null(if(f, " + nan + ", d))"), Value(false));
}

// Computed columns are filled by another evaluator: both must agree, as ranges rely on it.
TEST(QueryEvaluate, AgreesWithExpressionsOfComputedColumns) {
  static constexpr std::string_view kTexts[] = {"i % 3",
                                                "u % 5",
                                                "farm_hash(i, u, s) % 7",
                                                "i * 5 + 2",
                                                "(u >> 2) ^ u & 3",
                                                "-i - ~i",
                                                "if(f, i, 3)",
                                                "if_null(i, 5)",
                                                "is_null(d)",
                                                "i < 3 and f",
                                                "i = null or u >= 2",
                                                "int64(d)",
                                                "uint64(i)",
                                                "double(u) / 4",
                                                "boolean(i)",
                                                "length(s) + i",
                                                "is_prefix('a', s)",
                                                "s < 'b'",
                                                "not f is null",
                                                "d <= 1",
                                                "i / u",
                                                "i / i",
                                                "1 << 70"};
  TableSchema schema;
  for (std::size_t c = 0; c < 5; ++c) {
    static constexpr ColumnType kTypes[] = {ColumnType::kInt64, ColumnType::kUint64,
                                            ColumnType::kDouble, ColumnType::kBoolean,
                                            ColumnType::kString};
    schema.columns.push_back({.name = columns()[c].name, .type = kTypes[c], .key = true});
  }
  SeededRandom random(1);
  for (const std::string_view text : kTexts) {
    const auto compiled = compile_expression(text, schema);
    const auto node = parse_expression(text);
    ASSERT_TRUE(node) << text;
    const auto expression = bind_expression(*node, text, columns(), memory());
    ASSERT_EQ(compiled.has_value(), expression.has_value()) << text;
    if (!compiled) continue;
    for (int round = 0; round < 100; ++round) {
      static constexpr std::int64_t kInts[] = {0, 1,  -1,
                                               5, -7, std::numeric_limits<std::int64_t>::min()};
      std::vector<Value> values = {kInts[random.below(6)],
                                   random.below(5),
                                   static_cast<double>(random.below(9)) / 4 - 1,
                                   random.one_in(2),
                                   random.one_in(2) ? "a" : "bc",
                                   Value()};
      for (Value& value : values) {
        if (random.one_in(5)) value = Value();
      }
      const auto expected = compiled->evaluate(std::span(values).first(5));
      const auto actual = evaluate(*expression, values, memory());
      ASSERT_EQ(expected.has_value(), actual.has_value()) << text;
      if (expected) {
        ASSERT_EQ(*expected, *actual) << text;
      }
    }
  }
}

}  // namespace
}  // namespace moraine::query
