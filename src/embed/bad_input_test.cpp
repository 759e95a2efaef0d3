// Bad input: each mistake is refused with an error that names it, and changes nothing.

#include <gtest/gtest.h>

#include <concepts>

#include "embed/test_database.h"

namespace moraine {
namespace {

// A Value borrows its text: that of a temporary would be freed at once.
static_assert(!std::constructible_from<Value, std::string>);
static_assert(!std::constructible_from<Value, const std::string>);
static_assert(std::constructible_from<Value, std::string&>);
static_assert(std::constructible_from<Value, const std::string&>);
static_assert(std::constructible_from<Value, std::string_view>);
static_assert(std::constructible_from<Value, const char*>);

class BadInputTest : public DatabaseTest {
 protected:
  static TableSchema schema() {
    TableSchema made;
    made.columns = {
        column("id", ColumnType::kInt64, true), column("part", ColumnType::kString, true),
        column("name", ColumnType::kUtf8),      column("small", ColumnType::kInt8),
        column("any", ColumnType::kAny),        column("must", ColumnType::kBoolean)};
    made.columns[5].required = true;
    return made;
  }
  BadInputTest() { expect_ok(db_->run(db_->create_table("/t", schema()))); }

  Table table() { return std::move(*db_->table("/t")); }
  // The error of an insert, or "OK".
  std::string insert_error(std::initializer_list<NamedValue> row, WriteOptions options = {}) {
    auto tx = db_->begin();
    EXPECT_TRUE(tx);
    return outcome(tx->insert(table(), row, options));
  }
  template <class T>
  static std::string outcome(const Result<T>& result) {
    return result ? std::string("OK") : result.error().message();
  }
  static void expect_has(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
  }
  std::string create_error(const TableSchema& made, const TableOptions& options = {}) {
    return outcome(db_->run(db_->create_table("/other", made, options)));
  }
};

TEST_F(BadInputTest, ValuesOfWrongTypesNameTheColumn) {
  expect_has(insert_error({{"id", "one"}, {"part", "p"}, {"must", true}}), "\"id\"");
  expect_has(insert_error({{"id", 1}, {"part", 5}, {"must", true}}), "\"part\"");
  expect_has(insert_error({{"id", 1}, {"part", "p"}, {"name", 1.5}, {"must", true}}), "\"name\"");
  expect_has(insert_error({{"id", 1}, {"part", "p"}, {"name", "\xff"}, {"must", true}}),
             "\"name\"");
  expect_has(insert_error({{"id", 1}, {"part", "p"}, {"small", 300}, {"must", true}}), "\"small\"");
  expect_has(insert_error({{"id", 1}, {"part", "p"}, {"any", Value::any("{a=")}, {"must", true}}),
             "\"any\"");
}

TEST_F(BadInputTest, MissingUnknownAndRepeatedColumnsAreNamed) {
  expect_has(insert_error({{"id", 1}, {"part", "p"}}), "\"must\"");
  WriteOptions update;
  update.update = true;
  expect_has(insert_error({{"id", 1}, {"part", "p"}, {"name", "x"}}, update), "\"must\"");
  expect_has(insert_error({{"id", 1}, {"part", "p"}}, update), "non-key column");
  expect_has(insert_error({{"id", 1}, {"prt", "p"}, {"must", true}}), "\"prt\"");
  expect_has(insert_error({{"id", 1}, {"id", 2}, {"part", "p"}, {"must", true}}), "twice");
  TableSchema required = schema();
  required.columns[0].required = true;
  expect_ok(db_->run(db_->create_table("/keys", required)));
  auto tx = db_->begin();
  const NamedValue row[] = {{"part", "p"}, {"must", true}};
  expect_has(outcome(tx->insert(*db_->table("/keys"), row)), "\"id\"");
}

TEST_F(BadInputTest, EveryKeyColumnIsNamedByAnInsertAlsoWhenItMayBeNull) {
  expect_has(insert_error({{"part", "p"}, {"must", true}}), "Missing key column \"id\"");
  expect_has(insert_error({}), "Missing key column \"id\"");
}

TEST_F(BadInputTest, FiltersCompareByValueWhateverTheTypeOfTheNumber) {
  TableSchema numbers;
  numbers.columns = {column("k", ColumnType::kInt64, true), column("d", ColumnType::kDouble),
                     column("i", ColumnType::kInt64)};
  expect_ok(db_->run(db_->create_table("/numbers", numbers)));
  const auto table = db_->table("/numbers");
  ASSERT_TRUE(table);
  for (std::int64_t k = -2; k <= 2; ++k) {
    insert(*table, {{"k", k}, {"d", static_cast<double>(k)}, {"i", k + 2}});
  }
  const auto rows = [&](Filter filter) -> std::string {
    ScanOptions options;
    options.filters = {std::move(filter)};
    auto scan = table->scan(std::move(options));
    if (!scan) return scan.error().message();
    ScanBatch batch;
    std::size_t count = 0;
    for (auto more = scan->next(batch); more && *more; more = scan->next(batch))
      count += batch.rows;
    return std::to_string(count);
  };
  for (int flushed = 0; flushed < 2; ++flushed) {
    EXPECT_EQ(rows({"d", Filter::Op::kGreater, Value(0)}), "2");
    EXPECT_EQ(rows({"d", Filter::Op::kLess, Value(0)}), "2");
    EXPECT_EQ(rows({"i", Filter::Op::kLess, Value(3u)}), "3");
    EXPECT_EQ(rows({"i", Filter::Op::kNotEqual, Value(3u)}), "4");
    EXPECT_EQ(rows({"k", Filter::Op::kEqual, Value(1u)}), "1");
    expect_has(rows({"i", Filter::Op::kLess, Value("3")}), "\"i\"");
    expect_ok(db_->run(db_->flush_table("/numbers")));
  }
}

TEST_F(BadInputTest, ATableOfAnotherDatabaseIsRefused) {
  auto other = Database::open(folder_ + "/other", {.device_bytes = std::uint64_t{512} << 20});
  ASSERT_TRUE(other) << other.error().message();
  auto tx = other->begin();
  ASSERT_TRUE(tx);
  const NamedValue row[] = {{"id", 1}, {"part", "p"}, {"must", true}};
  expect_has(outcome(tx->insert(table(), row)), "another database");
  const Value key[] = {Value(1), Value("p")};
  const Key keys[] = {key};
  Rowset rows;
  expect_has(outcome(tx->lookup(table(), keys, {}, rows)), "another database");
}

TEST_F(BadInputTest, KeysOfLookupsAndDeletesAreChecked) {
  Rowset rows;
  expect_has(outcome(table().lookup({Value(1)}, {}, rows)), "too few columns");
  expect_has(outcome(table().lookup({Value(1), Value("p"), Value(2)}, {}, rows)),
             "too many columns");
  expect_has(outcome(table().lookup({Value("x"), Value("p")}, {}, rows)), "\"id\"");
  auto tx = db_->begin();
  expect_has(outcome(tx->remove(table(), {Value(1)})), "too few columns");
  const Value key[] = {Value(1), Value("p")};
  const std::string groups[] = {"nobody"};
  expect_has(outcome(tx->lock(table(), key, RowLock::kSharedStrong, groups)), "\"nobody\"");
}

TEST_F(BadInputTest, ValuesKeysAndRowsPastTheirLimitsAreRefused) {
  const std::string long_value((16u << 20) + 1, 'x');
  expect_has(
      insert_error(
          {{"id", 1}, {"part", "p"}, {"name", std::string_view(long_value)}, {"must", true}}),
      "too long");
  const std::string long_key(300u << 10, 'k');
  expect_has(insert_error({{"id", 1}, {"part", std::string_view(long_key)}, {"must", true}}),
             "Key is too long");
  Rowset rows;
  expect_has(outcome(table().lookup({Value(1), Value(std::string_view(long_key))}, {}, rows)),
             "Key is too long");
  TableSchema wide;
  wide.columns = {column("id", ColumnType::kInt64, true)};
  for (int i = 0; i < 9; ++i) {
    wide.columns.push_back(column("v" + std::to_string(i), ColumnType::kString));
  }
  expect_ok(db_->run(db_->create_table("/wide", wide)));
  const std::string big(8u << 20, 'x');
  std::vector<NamedValue> row = {{"id", 1}};
  for (std::size_t i = 1; i < wide.columns.size(); ++i) {
    row.push_back({wide.columns[i].name, std::string_view(big)});
  }
  auto tx = db_->begin();
  expect_has(outcome(tx->insert(*db_->table("/wide"), row)), "Row is too large: ");
}

TEST_F(BadInputTest, SchemasThatCannotBeATablesAreRefused) {
  TableSchema made;
  expect_has(create_error(made), "at least one column");
  made.columns = {column("id", ColumnType::kInt64, true)};
  expect_has(create_error(made), "at least one non-key column");
  made.columns.push_back(column("id", ColumnType::kString));
  expect_has(create_error(made), "twice");
  made.columns[1] = column("v", ColumnType::kString);
  made.columns.push_back(column("late", ColumnType::kInt64, true));
  expect_has(create_error(made), "prefix");
  made.columns.pop_back();
  made.columns[1].aggregate = Aggregate::kSum;
  expect_has(create_error(made), "aggregate");
  made.columns[1] = column("$mine", ColumnType::kString);
  expect_has(create_error(made), "reserved");
  made.columns[1] = column("v", ColumnType::kString);
  for (int i = 0; i < 1'100; ++i) {
    made.columns.push_back(column("c" + std::to_string(i), ColumnType::kString));
  }
  expect_has(create_error(made), "Too many columns");
  TableSchema computed;
  computed.columns = {column("hash", ColumnType::kUint64, true),
                      column("id", ColumnType::kInt64, true), column("v", ColumnType::kString)};
  computed.columns[0].expression = "farm_hash(nobody)";
  expect_has(create_error(computed), "nobody");
}

TEST_F(BadInputTest, OptionsThatContradictEachOtherAreNamed) {
  TableOptions options;
  options.mount.min_partition_data_size = options.mount.desired_partition_data_size + 1;
  expect_has(create_error(schema(), options), "min_partition_data_size");
  options = {};
  options.mount.desired_partition_data_size = options.mount.max_partition_data_size + 1;
  expect_has(create_error(schema(), options), "desired_partition_data_size");
  options = {};
  options.mount.lookup_cache_rows_ratio = 1.5;
  expect_has(create_error(schema(), options), "lookup_cache_rows_ratio");
  options = {};
  options.mount.min_data_ttl = std::chrono::milliseconds(-1);
  expect_has(create_error(schema(), options), "min_data_ttl");
  options = {};
  options.compression_codec = "zip";
  expect_has(create_error(schema(), options), "\"zip\"");
  TableMountOptions mount;
  mount.max_dynamic_store_row_count = 0;
  expect_has(outcome(db_->run(db_->remount_table("/t", mount))), "max_dynamic_store_row_count");
  EXPECT_EQ(db_->run(db_->describe_table("/t"))->options, TableOptions());
}

TEST_F(BadInputTest, SchemaChangesThatOldRowsWouldNotFitAreRefused) {
  const auto alter = [this](const TableSchema& made) {
    return outcome(db_->run(db_->alter_table("/t", made)));
  };
  expect_has(alter(schema()), "not all tablets are unmounted");
  expect_ok(db_->run(db_->unmount_table("/t")));
  TableSchema made = schema();
  made.columns.erase(made.columns.begin() + 2);
  expect_has(alter(made), "\"name\" is missing");
  made = schema();
  made.columns[0].type = ColumnType::kInt8;
  expect_has(alter(made), "\"id\" cannot change its type");
  made = schema();
  made.columns[2].required = true;
  expect_has(alter(made), "\"name\" cannot become required");
  made = schema();
  std::swap(made.columns[0], made.columns[1]);
  expect_has(alter(made), "place in the key");
  made = schema();
  made.columns.push_back(column("new", ColumnType::kString));
  made.columns.back().required = true;
  expect_has(alter(made), "\"new\" is new and cannot be required");
  EXPECT_EQ(db_->run(db_->describe_table("/t"))->schema, schema());
}

TEST_F(BadInputTest, ReadsNameWhatIsWrongWithThem) {
  ReadOptions options;
  options.timestamp = 0;
  Rowset rows;
  expect_has(outcome(table().lookup({Value(1), Value("p")}, options, rows)), "timestamp");
  EXPECT_FALSE(table().columns({"nobody"}));
  ScanOptions scan;
  scan.filters = {{"nobody", Filter::Op::kEqual, Value(1)}};
  expect_has(table().scan(scan).error().message(), "\"nobody\"");
  scan = {};
  scan.from = {Value("text")};
  expect_has(table().scan(scan).error().message(), "\"id\"");
  scan = {};
  scan.to = {Value(1), Value("p"), Value(2)};
  expect_has(table().scan(scan).error().message(), "a bound of 3 columns");
}

TEST_F(BadInputTest, PivotsAndPathsAreChecked) {
  const std::vector<std::vector<Value>> falling = {{Value(5)}, {Value(3)}};
  expect_has(outcome(db_->run(db_->create_table("/p", schema(), {}, falling))),
             "strictly increasing");
  const std::vector<std::vector<Value>> typed = {{Value("x")}};
  expect_has(outcome(db_->run(db_->create_table("/p", schema(), {}, typed))), "\"id\"");
  EXPECT_EQ(db_->run(db_->create_table("/t", schema())).error().code, Errc::kAlreadyExists);
  EXPECT_EQ(db_->run(db_->remove_table("/nobody")).error().code, Errc::kNotFound);
  EXPECT_FALSE(db_->run(db_->create_table("", schema())));
  EXPECT_EQ(db_->run(db_->reshard_table("/t", 2)).error().code, Errc::kReadOnly);
  expect_ok(db_->run(db_->unmount_table("/t")));
  expect_has(outcome(db_->run(db_->reshard_table("/t", std::size_t{0}))), "positive");
  Rowset rows;
  expect_has(outcome(table().lookup({Value(1), Value("p")}, {}, rows)), "\"unmounted\" state");
}

TEST_F(BadInputTest, IntegersAreTakenForDoublesWhereThatIsExact) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kDouble, true), column("score", ColumnType::kDouble)};
  const std::vector<std::vector<Value>> pivots = {{Value(100)}};
  expect_ok(db_->run(db_->create_table("/scores", schema, {}, pivots)));
  const auto table = db_->table("/scores");
  ASSERT_TRUE(table) << table.error().message();
  insert(*table, {{"k", 1}, {"score", 3}});
  insert(*table, {{"k", 200.5}, {"score", 4u}});
  Rowset rows;
  expect_ok(table->lookup({1}, {}, rows));
  ASSERT_TRUE(rows.exists(0));
  EXPECT_EQ(rows.at(0, 1).as_double(), 3.0);
  auto tx = db_->begin();
  ASSERT_TRUE(tx);
  const auto refused = tx->insert(*table, {{"k", 2}, {"score", (std::int64_t{1} << 53) + 1}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().context.find("score"), std::string::npos);
}

}  // namespace
}  // namespace moraine
