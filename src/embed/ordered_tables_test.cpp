// Ordered tables through the public interface.
#include <set>

#include "embed/test_database.h"

namespace moraine {
namespace {

using Lines = std::vector<std::string>;

class OrderedTables : public DatabaseTest {
 protected:
  void create(std::string_view path, std::size_t tablets = 1, TableOptions options = {}) {
    TableSchema schema;
    schema.columns = {column("v", ColumnType::kString), column("n", ColumnType::kInt64)};
    std::vector<std::vector<Value>> pivots;
    for (std::size_t i = 1; i < tablets; ++i) pivots.push_back({Value(std::int64_t(i))});
    expect_ok(db_->run(db_->create_table(path, schema, options, pivots)));
  }
  Table open_table(std::string_view path) {
    auto table = db_->table(path);
    EXPECT_TRUE(table) << table.error().message();
    return std::move(*table);
  }
  void append(const Table& table, std::int64_t tablet, std::string_view text) {
    insert(table, {{"$tablet_index", Value(tablet)}, {"v", Value(text)}});
  }
  // "tablet:row=v" of all rows in the bounds.
  Lines rows(const Table& table, ScanOptions options = {}) {
    Lines lines;
    auto scan = table.scan(std::move(options));
    EXPECT_TRUE(scan) << scan.error().message();
    ScanBatch batch;
    for (;;) {
      const auto next = scan->next(batch);
      EXPECT_TRUE(next) << next.error().message();
      if (!next || !*next) return lines;
      for (std::size_t i = 0; i < batch.rows; ++i) {
        lines.push_back(fmt::format("{}:{}={}", batch.columns[0].at(i).as_int64(),
                                    batch.columns[1].at(i).as_int64(),
                                    batch.columns[2].at(i).text()));
      }
    }
  }
  TabletReport tablet(std::string_view path, std::size_t index) {
    const auto report = db_->run(db_->describe_table(path));
    EXPECT_TRUE(report) << report.error().message();
    return report ? report->tablets.at(index) : TabletReport();
  }
  void remount(std::string_view path) {
    expect_ok(db_->run(db_->unmount_table(path)));
    expect_ok(db_->run(db_->mount_table(path)));
  }
};

TEST_F(OrderedTables, RowsAreAppendedToTheirTabletsAndRead) {
  create("/q", 2);
  std::optional<Table> first = open_table("/q");
  const Table& table = *first;
  append(table, 1, "x");
  append(table, 0, "a");
  append(table, 1, "y");
  append(table, 0, "b");
  EXPECT_EQ(rows(table), (Lines{"0:0=a", "0:1=b", "1:0=x", "1:1=y"}));
  ScanOptions range;
  range.from = {Value(0), Value(1)};
  range.to = {Value(1), Value(1)};
  EXPECT_EQ(rows(table, range), (Lines{"0:1=b", "1:0=x"}));

  Rowset found;
  expect_ok(table.lookup({Value(1), Value(1)}, {}, found));
  ASSERT_TRUE(found.exists(0));
  EXPECT_EQ(found.at(0, 2).text(), "y");
  expect_ok(table.lookup({Value(1), Value(2)}, {}, found));
  EXPECT_FALSE(found.exists(0));

  expect_ok(db_->run(db_->flush_table("/q")));
  first.reset();
  reopen();
  const Table again = open_table("/q");
  append(again, 1, "z");
  EXPECT_EQ(rows(again), (Lines{"0:0=a", "0:1=b", "1:0=x", "1:1=y", "1:2=z"}));
}

TEST_F(OrderedTables, RowsOfOneTransactionKeepTheirOrderAndAreCommittedWithOtherTables) {
  create("/q", 3);
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = open_table("/q");
  for (int round = 0; round < 5; ++round) {
    auto tx = db_->begin();
    ASSERT_TRUE(tx);
    for (int i = 0; i < 6; ++i) {
      const std::string text = fmt::format("{}-{}", round, i);
      expect_ok(tx->insert(table, {{"$tablet_index", Value(std::int64_t{i % 3})}, {"v", text}}));
    }
    expect_ok(tx->insert(users(), {{"id", Value(1)}, {"name", Value("n")}}));
    const auto committed = tx->commit();
    ASSERT_TRUE(committed) << committed.error().message();
  }
  const Lines found = rows(table);
  ASSERT_EQ(found.size(), 30u);
  for (int i = 0; i < 30; ++i) {
    const int of_tablet = i % 10;
    EXPECT_EQ(
        found[static_cast<std::size_t>(i)],
        fmt::format("{}:{}={}-{}", i / 10, of_tablet, of_tablet / 2, i / 10 + 3 * (of_tablet % 2)));
  }
}

TEST_F(OrderedTables, RowsWithoutATabletGoToOneOfThem) {
  create("/q", 3);
  const Table table = open_table("/q");
  std::set<char> tablets;
  for (int i = 0; i < 40; ++i) insert(table, {{"v", Value("x")}});
  for (const std::string& row : rows(table)) tablets.insert(row.front());
  EXPECT_GT(tablets.size(), 1u);
  EXPECT_EQ(rows(table).size(), 40u);
}

TEST_F(OrderedTables, OtherChangesAreRefused) {
  create("/q");
  const Table table = open_table("/q");
  const auto refused = [&](std::initializer_list<NamedValue> row, WriteOptions options = {}) {
    auto tx = db_->begin();
    const auto done = tx->insert(table, row, options);
    return !done && done.error().code == Errc::kInvalidArgument;
  };
  EXPECT_TRUE(refused({{"$row_index", Value(0)}, {"v", Value("x")}}));
  EXPECT_TRUE(refused({{"$tablet_index", Value(1)}, {"v", Value("x")}}));
  EXPECT_TRUE(refused({{"$tablet_index", Value(-1)}, {"v", Value("x")}}));
  EXPECT_TRUE(refused({{"$tablet_index", Value("a")}, {"v", Value("x")}}));
  EXPECT_TRUE(refused({{"none", Value(1)}}));
  EXPECT_TRUE(refused({{"v", Value("x")}}, {.update = true}));
  auto tx = db_->begin();
  const std::vector<Value> key = {Value(0), Value(0)};
  EXPECT_FALSE(tx->remove(table, key));
  EXPECT_FALSE(tx->lock(table, key, RowLock::kExclusive));
  EXPECT_TRUE(rows(table).empty());
}

TEST_F(OrderedTables, SchemasAreChecked) {
  const auto refused = [&](std::vector<ColumnSchema> columns,
                           std::vector<std::vector<Value>> pivots) {
    TableSchema schema;
    schema.columns = std::move(columns);
    return !db_->run(db_->create_table("/bad", schema, {}, std::move(pivots)));
  };
  ColumnSchema sum = column("n", ColumnType::kInt64);
  sum.aggregate = Aggregate::kSum;
  ColumnSchema locked = column("n", ColumnType::kInt64);
  locked.lock = "l";
  EXPECT_TRUE(refused({}, {}));
  EXPECT_TRUE(refused({sum}, {}));
  EXPECT_TRUE(refused({locked}, {}));
  EXPECT_TRUE(refused({column("$row_index", ColumnType::kInt64)}, {}));
  EXPECT_TRUE(refused({column("$ttl", ColumnType::kUint64)}, {}));
  EXPECT_TRUE(refused({column("$timestamp", ColumnType::kInt64)}, {}));
  EXPECT_TRUE(refused({column("v", ColumnType::kString)}, {{Value(2)}}));
  EXPECT_TRUE(refused({column("v", ColumnType::kString)}, {{Value("x")}}));
}

TEST_F(OrderedTables, TimestampsAreReadAsColumns) {
  TableSchema schema;
  schema.columns = {column("v", ColumnType::kString), column("$timestamp", ColumnType::kUint64),
                    column("$cumulative_data_weight", ColumnType::kInt64)};
  expect_ok(db_->run(db_->create_table("/t", schema)));
  const Table table = open_table("/t");
  const Timestamp first = insert(table, {{"v", Value("abc")}});
  const Timestamp second = insert(table, {{"v", Value("d")}});
  Rowset found;
  expect_ok(table.lookup({Value(0), Value(1)}, {}, found));
  ASSERT_TRUE(found.exists(0));
  EXPECT_EQ(found.at(0, 3).as_uint64(), second);
  EXPECT_EQ(found.at(0, 4).as_int64(), 6);
  expect_ok(table.lookup({Value(0), Value(0)}, {}, found));
  EXPECT_EQ(found.at(0, 3).as_uint64(), first);
}

TEST_F(OrderedTables, AreTrimmed) {
  create("/q", 2);
  std::optional<Table> first = open_table("/q");
  const Table& table = *first;
  for (const char* text : {"a", "b", "c"}) append(table, 1, text);
  append(table, 0, "z");
  expect_ok(db_->run(db_->trim_rows("/q", 1, 2)));
  EXPECT_EQ(rows(table), (Lines{"0:0=z", "1:2=c"}));
  EXPECT_EQ(tablet("/q", 1).total_rows, 3u);
  EXPECT_EQ(tablet("/q", 1).trimmed_rows, 2u);
  EXPECT_EQ(tablet("/q", 0).trimmed_rows, 0u);
  EXPECT_FALSE(db_->run(db_->trim_rows("/q", 1, 4)));
  EXPECT_FALSE(db_->run(db_->trim_rows("/q", 2, 1)));
  expect_ok(db_->run(db_->freeze_table("/q")));
  EXPECT_FALSE(db_->run(db_->trim_rows("/q", 1, 3)));
  expect_ok(db_->run(db_->unfreeze_table("/q")));
  first.reset();
  reopen();
  const Table again = open_table("/q");
  append(again, 1, "d");
  EXPECT_EQ(rows(again), (Lines{"0:0=z", "1:2=c", "1:3=d"}));
}

TEST_F(OrderedTables, AreReshardedByTheNumberOfTablets) {
  create("/q");
  const Table table = open_table("/q");
  append(table, 0, "a");
  expect_ok(db_->run(db_->unmount_table("/q")));
  const auto grown = db_->run(db_->reshard_table("/q", 3));
  ASSERT_TRUE(grown) << grown.error().message();
  EXPECT_EQ(*grown, 3u);
  expect_ok(db_->run(db_->mount_table("/q")));
  append(table, 2, "c");
  append(table, 0, "b");
  EXPECT_EQ(rows(table), (Lines{"0:0=a", "0:1=b", "2:0=c"}));

  expect_ok(db_->run(db_->unmount_table("/q")));
  EXPECT_FALSE(db_->run(db_->reshard_table("/q", 2))) << "the last tablet has a row";
  EXPECT_FALSE(db_->run(db_->reshard_table("/q", std::vector<std::vector<Value>>{{Value(1)}})));
  expect_ok(db_->run(db_->mount_table("/q")));
  expect_ok(db_->run(db_->trim_rows("/q", 2, 1)));
  expect_ok(db_->run(db_->unmount_table("/q")));
  const auto shrunk = db_->run(db_->reshard_table("/q", 1));
  ASSERT_TRUE(shrunk) << shrunk.error().message();
  expect_ok(db_->run(db_->mount_table("/q")));
  append(table, 0, "d");
  EXPECT_EQ(rows(table), (Lines{"0:0=a", "0:1=b", "0:2=d"}));
}

TEST_F(OrderedTables, ColumnsAreAddedByAlter) {
  create("/q");
  append(open_table("/q"), 0, "a");
  expect_ok(db_->run(db_->unmount_table("/q")));
  TableSchema schema;
  schema.columns = {column("v", ColumnType::kString), column("n", ColumnType::kInt64),
                    column("m", ColumnType::kInt64)};
  expect_ok(db_->run(db_->alter_table("/q", schema)));
  TableSchema sorted = users_schema();
  const auto done = db_->run(db_->alter_table("/q", sorted));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("from sorted to ordered or vice versa"), std::string::npos);
  expect_ok(db_->run(db_->mount_table("/q")));
  const Table table = open_table("/q");
  insert(table, {{"v", Value("b")}, {"m", Value(5)}});
  EXPECT_EQ(rows(table), (Lines{"0:0=a", "0:1=b"}));
}

}  // namespace
}  // namespace moraine
