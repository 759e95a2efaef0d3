// Static tables whose schema changes: their rows stay, and more are added.

#include <gtest/gtest.h>

#include "client/test_rows.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

ColumnSchema column(std::string name, ColumnType type, bool key = false) {
  ColumnSchema made;
  made.name = std::move(name);
  made.type = type;
  made.key = key;
  return made;
}

class StoredTablesStatic : public testing::Test {
 protected:
  StoredTables& tables() { return node_.node().tables().tables(); }
  Result<void> run(std::function<Task<Result<void>>()> body) {
    return node_.on_lane<Result<void>>(0, std::move(body));
  }
  void expect_ok(const Result<void>& done) { EXPECT_TRUE(done) << done.error().message(); }
  void create(std::vector<ColumnSchema> columns, bool unique) {
    NewTable table;
    table.dynamic = false;
    table.schema = schema_of(std::move(columns), unique);
    expect_ok(run([&] { return tables().create("t", std::move(table)); }));
  }
  static TableSchema schema_of(std::vector<ColumnSchema> columns, bool unique) {
    TableSchema schema;
    schema.columns = std::move(columns);
    schema.unique_keys = unique;
    return schema;
  }
  Result<void> alter(std::vector<ColumnSchema> columns, bool unique) {
    return run([&] { return tables().alter("t", schema_of(columns, unique)); });
  }
  Result<void> append(std::vector<std::vector<NamedValue>> rows) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    const client::TablePtr table = client::open_shared(door, "/t").value();
    auto checked = table->check_rows(rows);
    if (!checked) return std::unexpected(checked.error());
    return run([&] { return tables().write_static("t", *checked); });
  }
  // Rows with their cells, as `a:1 b:# `.
  std::vector<std::string> rows() {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    using Rows = Result<std::vector<std::string>>;
    const auto found = node_.on_lane<Rows>(0, [&]() -> Task<Rows> {
      CO_TRY(const client::TablePtr table, client::open_shared(door, "/t"));
      CO_TRY(client::NewScan made, client::new_scan(*table, {}));
      client::Scan scan(std::move(made));
      std::vector<std::string> all;
      for (ScanBatch batch;;) {
        CO_TRY(const bool more, co_await scan.next(batch));
        if (!more) co_return all;
        for (std::size_t i = 0; i < batch.rows; ++i) all.push_back(shown(*table, batch, i));
      }
    });
    EXPECT_TRUE(found) << found.error().message();
    return found.value_or(std::vector<std::string>());
  }
  static std::string shown(const client::Table& table, const ScanBatch& batch, std::size_t row) {
    std::string text;
    for (std::size_t i = 0; i < batch.columns.size(); ++i) {
      const Value value = batch.columns[i].at(row);
      text += table.shown->columns[i].name + ":";
      text += value.is_null()    ? "#"
              : value.has_text() ? std::string(value.text())
                                 : std::to_string(value.as_int64());
      text += " ";
    }
    return text;
  }

  TestNode node_{2};
};

TEST_F(StoredTablesStatic, AnEmptyTableTakesAnySchema) {
  create({column("a", ColumnType::kString)}, false);
  expect_ok(alter({column("k", ColumnType::kInt64, true), column("b", ColumnType::kInt64)}, true));
  expect_ok(append({{{"k", Value(1)}, {"b", Value(2)}}}));
  EXPECT_EQ(rows(), std::vector<std::string>{"k:1 b:2 "});
  EXPECT_FALSE(alter({column("a", ColumnType::kString)}, false)) << "it is not empty any more";
  EXPECT_FALSE(alter({}, true)) << "not a schema that is valid at all";
}

TEST_F(StoredTablesStatic, RowsAreReadByTheNewSchemaAndMoreAreAdded) {
  create({column("a", ColumnType::kString), column("n", ColumnType::kInt32)}, false);
  expect_ok(append({{{"a", Value("x")}, {"n", Value(1)}}, {{"a", Value("x")}, {"n", Value(2)}}}));
  expect_ok(alter({column("a", ColumnType::kString), column("c", ColumnType::kString),
                   column("n", ColumnType::kInt64)},
                  false));
  const std::vector<std::string> before{"a:x c:# n:1 ", "a:x c:# n:2 "};
  EXPECT_EQ(rows(), before);
  node_.cut_power();
  node_.world().run_for(5s);
  EXPECT_EQ(rows(), before);
  expect_ok(append({{{"a", Value("b")}, {"c", Value("y")}, {"n", Value(std::int64_t{1} << 40)}}}));
  EXPECT_EQ(rows(), (std::vector<std::string>{before[0], before[1], "a:b c:y n:1099511627776 "}))
      << "rows keep their order";
  node_.world().run_for(4 * kRetiredPeriod);
  node_.restart();
  node_.world().run_for(5s);
  EXPECT_EQ(rows().size(), 3u) << "the replaced tablet was deleted only if nothing needs it";
}

TEST_F(StoredTablesStatic, WhatRowsForbidIsRefused) {
  const ColumnSchema key = column("k", ColumnType::kInt64, true);
  const ColumnSchema value = column("v", ColumnType::kString);
  create({key, value}, true);
  expect_ok(append({{{"k", Value(1)}, {"v", Value("a")}}, {{"k", Value(2)}, {"v", Value("b")}}}));
  const auto refused = [&](std::vector<ColumnSchema> columns, bool unique) {
    const auto done = alter(std::move(columns), unique);
    return done ? std::string("altered") : done.error().context;
  };
  const std::string incompatible = "Table schemas are incompatible";
  EXPECT_TRUE(refused({key, value}, false).starts_with(incompatible));
  EXPECT_TRUE(refused({key}, true).starts_with(incompatible));
  ColumnSchema narrower = key;
  narrower.type = ColumnType::kInt8;
  EXPECT_TRUE(refused({narrower, value}, true).starts_with(incompatible));
  EXPECT_EQ(refused({key, column("l", ColumnType::kInt64, true), value}, true), "altered");
  EXPECT_EQ(rows(), (std::vector<std::string>{"k:1 l:# v:a ", "k:2 l:# v:b "}));
  EXPECT_FALSE(append({{{"k", Value(2)}, {"v", Value("c")}}})) << "below the last key";
  expect_ok(append({{{"k", Value(2)}, {"l", Value(5)}, {"v", Value("c")}}}));
  expect_ok(run([&] { return tables().make_dynamic("t"); }));
  EXPECT_EQ(rows().size(), 3u);
}

TEST_F(StoredTablesStatic, KeysThatRepeatGetNoMoreColumns) {
  const ColumnSchema key = column("k", ColumnType::kInt64, true);
  const ColumnSchema value = column("v", ColumnType::kString);
  create({key, value}, false);
  expect_ok(append({{{"k", Value(1)}, {"v", Value("a")}}, {{"k", Value(1)}, {"v", Value("b")}}}));
  EXPECT_FALSE(alter({key, column("l", ColumnType::kInt64, true), value}, false));
  expect_ok(alter({key, value, column("w", ColumnType::kString)}, false));
  EXPECT_EQ(rows(), (std::vector<std::string>{"k:1 v:a w:# ", "k:1 v:b w:# "}));
}

}  // namespace
}  // namespace moraine
