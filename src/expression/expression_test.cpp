#include "expression/expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "expression/farm_hash.h"

namespace moraine {
namespace {

TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {{.name = "i", .type = ColumnType::kInt32, .key = true},
                    {.name = "u", .type = ColumnType::kUint64, .key = true},
                    {.name = "d", .type = ColumnType::kDouble, .key = true},
                    {.name = "b", .type = ColumnType::kBoolean, .key = true},
                    {.name = "s", .type = ColumnType::kString, .key = true},
                    {.name = "odd.name", .type = ColumnType::kInt64, .key = true},
                    {.name = "c", .type = ColumnType::kInt64, .key = true, .expression = "i"},
                    {.name = "a", .type = ColumnType::kAny, .key = true},
                    {.name = "v", .type = ColumnType::kInt64}};
  return schema;
}

std::vector<Value> row() {
  return {-7, std::uint64_t{10}, 2.5, true, "hello", 3, Value(), Value()};
}

Value eval(std::string_view text, std::vector<Value> columns = row()) {
  static std::vector<CompiledExpression> keep;  // Texts of results may borrow them.
  auto compiled = compile_expression(text, test_schema());
  EXPECT_TRUE(compiled) << text << ": " << compiled.error().message();
  if (!compiled) return "failed to compile";
  keep.push_back(*compiled);
  const auto value = compiled->evaluate(columns);
  EXPECT_TRUE(value) << text << ": " << value.error().message();
  if (!value) return "failed";
  EXPECT_TRUE(value->is_null() || value->type() == compiled->type()) << text;
  return *value;
}

std::string why_not(std::string_view text) {
  const auto compiled = compile_expression(text, test_schema());
  if (!compiled) return compiled.error().context;
  const auto value = compiled->evaluate(row());
  return value ? "" : value.error().context;
}

TEST(Expression, ArithmeticHasTheUsualPrecedence) {
  EXPECT_EQ(eval("i * 100 + 3"), Value(-697));
  EXPECT_EQ(eval("1 + 2 * 3 - 4"), Value(3));
  EXPECT_EQ(eval("(1 + 2) * 3"), Value(9));
  EXPECT_EQ(eval("10 - 3 - 2"), Value(5));
  EXPECT_EQ(eval("1 | 2 ^ 3 & 2"), Value(1));
  EXPECT_EQ(eval("1 << 2 + 1"), Value(8));
  EXPECT_EQ(eval("-i"), Value(7));
  EXPECT_EQ(eval("~u & 15"), Value(std::uint64_t{5}));
  EXPECT_EQ(eval("[odd.name] + `odd.name`"), Value(6));
}

TEST(Expression, DivisionTruncatesAndModuloKeepsTheSign) {
  EXPECT_EQ(eval("i / 2"), Value(-3));
  EXPECT_EQ(eval("i % 2"), Value(-1));
  EXPECT_EQ(eval("u % 3"), Value(std::uint64_t{1}));
  EXPECT_EQ(eval("d / 0"), Value(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(why_not("i / (i + 7)"), "Division by zero");
  EXPECT_EQ(why_not("u % (u - 10)"), "Division by zero");
}

TEST(Expression, LiteralsAdaptToTheOtherSide) {
  EXPECT_EQ(eval("u + 1"), Value(std::uint64_t{11}));
  EXPECT_EQ(eval("d * 2"), Value(5.0));
  EXPECT_EQ(eval("2u * d"), Value(5.0));
  EXPECT_TRUE(why_not("u + -1").starts_with("Type mismatch"));
  EXPECT_TRUE(why_not("i + 1u").starts_with("Type mismatch"));
  EXPECT_TRUE(why_not("i + u").starts_with("Type mismatch"));
  EXPECT_EQ(eval("i + int64(u)"), Value(3));
}

TEST(Expression, NullGoesThroughArithmeticAndComparesAsTheLeast) {
  const std::vector<Value> nulls(8);
  EXPECT_TRUE(eval("i + 1", nulls).is_null());
  EXPECT_TRUE(eval("length(s)", nulls).is_null());
  EXPECT_EQ(eval("i = null", nulls), Value(true));
  EXPECT_EQ(eval("i < 0", nulls), Value(true));
  EXPECT_EQ(eval("b or true", nulls), Value(true));
  EXPECT_EQ(eval("b and false", nulls), Value(false));
  EXPECT_TRUE(eval("b or false", nulls).is_null());
  EXPECT_TRUE(eval("if(b, 1, 2)", nulls).is_null());
  EXPECT_EQ(eval("if_null(i, 5)", nulls), Value(5));
  EXPECT_EQ(eval("i is null and not s is not null", nulls), Value(true));
}

TEST(Expression, FunctionsDoWhatTheyAreNamedFor) {
  EXPECT_EQ(eval("length(s)"), Value(5));
  EXPECT_EQ(eval("if(i < 0, 'neg', 'pos')"), Value("neg"));
  EXPECT_EQ(eval("is_prefix('he', s) AND is_substr(\"ll\", s)"), Value(true));
  EXPECT_EQ(eval("boolean(i)"), Value(true));
  EXPECT_EQ(eval("int64(d)"), Value(2));
  EXPECT_EQ(eval("double(u)"), Value(10.0));
  EXPECT_EQ(eval("uint64(i)"), Value(static_cast<std::uint64_t>(-7)));
  EXPECT_EQ(why_not("int64(d * 1e300)"), "double is out of the range of int64");
}

TEST(Expression, FarmHashIsThatOfTheColumns) {
  const Value both[] = {Value(-7), Value("hello")};
  EXPECT_EQ(eval("farm_hash(i, s)"), Value(farm_hash(both)));
  EXPECT_EQ(eval("farm_hash(2)"), Value(3427386618069609762U));
  EXPECT_EQ(eval("farm_hash(i, s) % 16"), Value(farm_hash(both) % 16));
}

TEST(Expression, StringsHaveEscapes) {
  EXPECT_EQ(eval(R"('a\'"\x41\n')"), Value("a'\"A\n"));
  EXPECT_EQ(eval(R"("it's")"), Value("it's"));
}

TEST(Expression, NamesMustBeKeyColumnsThatAreNotComputed) {
  EXPECT_EQ(why_not("nobody"), "Undefined reference \"nobody\"");
  EXPECT_EQ(why_not("v"), "column \"v\" is not a key column");
  EXPECT_EQ(why_not("c"), "column \"c\" is computed");
  EXPECT_EQ(why_not("a"), "column \"a\" of type any cannot be used");
}

TEST(Expression, WhatIsNoExpressionIsRefused) {
  for (const std::string_view text : {"",
                                      "i +",
                                      "(i",
                                      "i)",
                                      "i i",
                                      "1x",
                                      "99999999999999999999",
                                      "'open",
                                      "[open",
                                      "i ! 2",
                                      "f(i)",
                                      "length(i)",
                                      "length()",
                                      "if(i, 1, 2)",
                                      "not not b",
                                      "s + s",
                                      "b + b",
                                      "farm_hash()",
                                      "and",
                                      "1.5.5",
                                      "i,",
                                      "farm_hash(i,)",
                                      "%maybe"}) {
    EXPECT_FALSE(compile_expression(text, test_schema())) << text;
  }
}

TEST(Expression, SizeAndNestingAreBounded) {
  const std::string deep = std::string(10'000, '(') + "i" + std::string(10'000, ')');
  EXPECT_FALSE(compile_expression(deep, test_schema()));
  EXPECT_FALSE(compile_expression(std::string(10'000, '-') + "i", test_schema()));
  std::string sum = "i";
  for (int i = 0; i < 60; ++i) sum += "+i";
  EXPECT_FALSE(compile_expression(sum, test_schema()));
  EXPECT_FALSE(compile_expression(std::string(kExpressionBytesMax + 1, ' '), test_schema()));
}

}  // namespace
}  // namespace moraine
