#include "sim/query/sqlite.h"

#include <gtest/gtest.h>

#include "sim/query/json_values.h"

namespace moraine::sim {
namespace {

Value run_one(Sqlite& sqlite, const std::string& sql, ValueType type, table::TextMemory& texts) {
  const ValueType types[] = {type};
  const auto rows = sqlite.run("SELECT " + sql, types, texts);
  EXPECT_TRUE(rows) << rows.error().context;
  return rows && rows->size() == 1 ? (*rows)[0][0] : Value();
}

TEST(Sqlite, FunctionsOfNumbersWrapAround) {
  Sqlite sqlite;
  table::TextMemory texts;
  const auto integer = [&](const std::string& sql) {
    return run_one(sqlite, sql, ValueType::kInt64, texts).as_int64();
  };
  EXPECT_EQ(integer("i_add(9223372036854775807, 1)"), INT64_MIN);
  EXPECT_EQ(integer("i_mul(4611686018427387904, 2)"), INT64_MIN);
  EXPECT_EQ(integer("bit_count(-1, 0)"), 64);
  EXPECT_EQ(run_one(sqlite, "u_sub(i_to_u(0), i_to_u(1))", ValueType::kUint64, texts).as_uint64(),
            ~std::uint64_t{0});
  EXPECT_EQ(run_one(sqlite, "u_text(i_to_u(-1))", ValueType::kString, texts).text(),
            "18446744073709551615");
}

TEST(Sqlite, NullArgumentsGiveNull) {
  Sqlite sqlite;
  table::TextMemory texts;
  for (const char* sql : {"i_add(NULL, 1)", "u_add(1, NULL)", "bit_count(NULL, 0)",
                          "regexp_full('a', NULL)", "i_sum(NULL)", "argmin(1, NULL)"}) {
    EXPECT_TRUE(run_one(sqlite, sql, ValueType::kInt64, texts).is_null()) << sql;
  }
}

TEST(Sqlite, LikeHasACase) {
  Sqlite sqlite;
  table::TextMemory texts;
  EXPECT_FALSE(run_one(sqlite, "'A' LIKE 'a'", ValueType::kBoolean, texts).as_boolean());
}

TEST(Sqlite, RefusesAnotherType) {
  Sqlite sqlite;
  table::TextMemory texts;
  const ValueType types[] = {ValueType::kInt64};
  EXPECT_FALSE(sqlite.run("SELECT 1.5", types, texts));
  EXPECT_FALSE(sqlite.run("SELECT 1, 2", types, texts));
  EXPECT_FALSE(sqlite.run("SELEKT", types, texts));
}

// Values of type any have several spellings.
std::vector<query::Row> normalized_rows(std::vector<query::Row> rows, table::TextMemory& texts) {
  for (query::Row& row : rows) {
    for (Value& cell : row) cell = normalized(cell, texts);
  }
  return rows;
}

TEST(Sqlite, HoldsTheRowsOfTheTables) {
  SeededRandom random(7);
  const QueryTables tables = random_tables(random);
  Sqlite sqlite;
  ASSERT_TRUE(sqlite.load(tables));
  table::TextMemory texts;
  std::vector<ValueType> types;
  for (const ColumnSchema& column : tables.tables[0].schema->columns) {
    types.push_back(physical_type(column.type));
  }
  const auto rows = sqlite.run("SELECT * FROM t0 ORDER BY rowid", types, texts);
  ASSERT_TRUE(rows) << rows.error().context;
  EXPECT_EQ(normalized_rows(*rows, texts), normalized_rows(tables.tables[0].rows, texts));
}

}  // namespace
}  // namespace moraine::sim
