#include "table/model/pivots.h"

#include <gtest/gtest.h>

#include "table/model/key.h"

namespace moraine::table {
namespace {

TableSchema schema_of(ColumnType type) {
  TableSchema schema;
  ColumnSchema key;
  key.name = "k";
  key.type = type;
  key.key = true;
  ColumnSchema second = key;
  second.name = "l";
  second.type = ColumnType::kUint64;
  ColumnSchema value;
  value.name = "v";
  schema.columns = {key, second, value};
  return schema;
}

std::vector<std::string> encoded(std::vector<Value> values) {
  std::vector<std::string> all;
  for (const Value& value : values) all.push_back(encode_key(std::span(&value, 1)));
  return all;
}

TEST(PivotsTest, UniformOnesSplitTheRangeOfTheType) {
  const TableSchema wide = schema_of(ColumnType::kInt64);
  EXPECT_EQ(uniform_pivots(wide, 1).value(), encoded({}));
  EXPECT_EQ(uniform_pivots(wide, 2).value(), encoded({0}));
  EXPECT_EQ(uniform_pivots(wide, 5).value(), encoded({-5534023222112865485, -1844674407370955162,
                                                      1844674407370955161, 5534023222112865484}));
  EXPECT_EQ(uniform_pivots(schema_of(ColumnType::kUint64), 4).value(),
            encoded({1ull << 62, 1ull << 63, 3ull << 62}));
  EXPECT_EQ(uniform_pivots(schema_of(ColumnType::kInt8), 4).value(), encoded({-64, 0, 64}));
  EXPECT_EQ(uniform_pivots(schema_of(ColumnType::kUint8), 256)->size(), 255u);
  EXPECT_FALSE(uniform_pivots(schema_of(ColumnType::kUint8), 257));
  EXPECT_FALSE(uniform_pivots(schema_of(ColumnType::kInt8), 1000));
  EXPECT_FALSE(uniform_pivots(schema_of(ColumnType::kString), 2));
  EXPECT_EQ(uniform_pivots(wide, 0).error().context, "Tablet count must be positive");
}

TEST(PivotsTest, TypesAreThoseOfTheKey) {
  const TableSchema schema = schema_of(ColumnType::kInt64);
  const auto encode = [&](std::vector<Value> columns) { return encode_pivot(schema, columns); };
  EXPECT_EQ(encode({}).value(), "");
  EXPECT_TRUE(encode({Value(5)}));
  EXPECT_TRUE(encode({Value(5), Value()}));
  EXPECT_TRUE(encode({Value(5), Value(7u)}));
  const auto wrong = encode({Value(5), Value(7)});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().context.find("Mismatched type of column \"l\""), std::string::npos);
  EXPECT_FALSE(encode({Value(5), Value(7u), Value("x")})) << "only key columns";
}

}  // namespace
}  // namespace moraine::table
