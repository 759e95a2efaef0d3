#include "moraine/schema.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

TEST(Schema, NamesOfTypesAndAggregatesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(ColumnType::kInterval64); ++i) {
    const auto type = static_cast<ColumnType>(i);
    EXPECT_EQ(parse_column_type(to_string(type)), type);
  }
  for (int i = 1; i <= static_cast<int>(Aggregate::kDictSum); ++i) {
    const auto aggregate = static_cast<Aggregate>(i);
    EXPECT_EQ(parse_aggregate(to_string(aggregate)), aggregate);
  }
  EXPECT_EQ(parse_column_type("bool"), ColumnType::kBoolean);
  EXPECT_EQ(parse_column_type("yson"), ColumnType::kAny);
  EXPECT_FALSE(parse_column_type("int128"));
  EXPECT_FALSE(parse_aggregate("avg"));
  EXPECT_FALSE(parse_aggregate(""));
}

TEST(Schema, ColumnsAreFoundByName) {
  TableSchema schema;
  schema.columns = {{.name = "k", .key = true}, {.name = "l", .key = true}, {.name = "v"}};
  EXPECT_EQ(schema.key_count(), 2U);
  EXPECT_EQ(schema.find("v"), 2U);
  EXPECT_FALSE(schema.find("w"));
}

}  // namespace
}  // namespace moraine
