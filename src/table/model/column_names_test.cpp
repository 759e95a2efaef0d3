#include "table/model/column_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace moraine::table {
namespace {

TEST(ColumnNames, FindsTheColumnsOfSmallAndLargeSchemas) {
  for (const std::size_t count : {0, 1, 32, 33, 1'000}) {
    TableSchema schema;
    for (std::size_t i = 0; i < count; ++i) {
      schema.columns.push_back({.name = fmt::format("c{}", i), .type = ColumnType::kInt64});
    }
    ColumnNames names(schema);
    for (std::size_t i = count; i-- > 0;) EXPECT_EQ(names.find(fmt::format("c{}", i)), i);
    EXPECT_EQ(names.find("c"), std::nullopt);
    EXPECT_EQ(names.find(fmt::format("c{}", count)), std::nullopt);
  }
}

}  // namespace
}  // namespace moraine::table
