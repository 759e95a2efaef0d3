// Columns can only be used with the table that made them.

#include "embed/test_database.h"

namespace moraine {
namespace {

class ColumnsTest : public DatabaseTest {
 protected:
  ColumnsTest() {
    expect_ok(db_->run(db_->create_table("/users", users_schema())));
    expect_ok(db_->run(db_->create_table("/pairs", pairs_schema())));
    expect_ok(db_->run(db_->create_table("/twins", users_schema())));
  }
  static TableSchema pairs_schema() {
    TableSchema schema;
    schema.columns = {column("id", ColumnType::kInt64, true), column("text", ColumnType::kString)};
    return schema;
  }
  Table take(std::string_view path) {
    auto table = db_->table(path);
    EXPECT_TRUE(table) << table.error().message();
    return std::move(*table);
  }
  static ReadOptions only(const Table& table, std::string_view name) {
    ReadOptions options;
    const auto columns = table.columns({name});
    EXPECT_TRUE(columns) << columns.error().message();
    options.columns = *columns;
    return options;
  }
  Task<Result<void>> look_up(Table table, ReadOptions options) {
    const std::vector<Value> key = {Value(1)};
    const std::vector<std::vector<Value>> keys = {key};
    Rowset rows;
    co_return co_await table.lookup_async(keys, options, rows);
  }
  void expect_refused(const Table& table, const ReadOptions& options) {
    Rowset rows;
    const auto found = table.lookup({1}, options, rows);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::kInvalidArgument);
    EXPECT_NE(found.error().context.find("made by another table than " + table.path()),
              std::string::npos)
        << found.error().message();
    const auto awaited = db_->run<Result<void>>([&] { return look_up(table, options); });
    ASSERT_FALSE(awaited);
    EXPECT_EQ(awaited.error().code, Errc::kInvalidArgument);
    ScanOptions scan;
    scan.read = options;
    const auto scanned = table.scan(scan);
    ASSERT_FALSE(scanned);
    EXPECT_EQ(scanned.error().code, Errc::kInvalidArgument);
    const auto tx = db_->begin();
    ASSERT_TRUE(tx);
    const Value one(1);
    const Key key(&one, 1);
    EXPECT_EQ(tx->lookup(table, std::span(&key, 1), options, rows).error().code,
              Errc::kInvalidArgument);
    EXPECT_EQ(tx->scan(table, scan).error().code, Errc::kInvalidArgument);
  }
};

TEST_F(ColumnsTest, OfOneTableDoNotReadAnother) {
  expect_refused(take("/pairs"), only(users(), "score"));
  expect_refused(take("/twins"), only(users(), "score"));
}

TEST_F(ColumnsTest, OfATableReadItHoweverOftenItIsTaken) {
  insert(users(), {{"id", 1}, {"name", "Ada"}});
  const ReadOptions names = only(users(), "name");
  Rowset rows;
  for (const std::string_view path : {"/users", "users", "//users"}) {
    expect_ok(take(path).lookup({1}, names, rows));
    ASSERT_TRUE(rows.exists(0));
    EXPECT_EQ(rows.at(0, 0).text(), "Ada");
  }
  expect_ok(db_->run(db_->unmount_table("/users")));
  expect_ok(db_->run(db_->mount_table("/users")));
  expect_ok(users().lookup({1}, names, rows));
}

TEST_F(ColumnsTest, OfASchemaThatHasChangedDoNotReadTheNewOne) {
  const ReadOptions old = only(users(), "score");
  TableSchema wider = users_schema();
  wider.columns.insert(wider.columns.begin() + 1, column("city", ColumnType::kString));
  expect_ok(db_->run(db_->unmount_table("/users")));
  expect_ok(db_->run(db_->alter_table("/users", wider)));
  expect_ok(db_->run(db_->mount_table("/users")));
  expect_refused(users(), old);
}

TEST_F(ColumnsTest, AreAllOfThemByDefaultOfAnyTable) {
  Rowset rows;
  const ReadOptions all;
  expect_ok(users().lookup({1}, all, rows));
  EXPECT_EQ(rows.columns(), 3u);
  expect_ok(take("/pairs").lookup({1}, all, rows));
  EXPECT_EQ(rows.columns(), 2u);
}

}  // namespace
}  // namespace moraine
