// Static tables through the public API.

#include <gtest/gtest.h>

#include "embed/test_database.h"

namespace moraine {
namespace {

using Rows = std::vector<std::vector<NamedValue>>;

TableSchema plain_schema(bool key, bool unique) {
  TableSchema schema;
  schema.columns = {column("id", ColumnType::kInt64, key), column("name", ColumnType::kString)};
  schema.unique_keys = unique;
  return schema;
}

Rows numbered(std::int64_t first, std::int64_t last, std::string_view text = "x") {
  Rows rows;
  for (std::int64_t id = first; id < last; ++id) rows.push_back({{"id", id}, {"name", text}});
  return rows;
}

class StaticTablesTest : public DatabaseTest {
 protected:
  // "1=x 2=y"
  std::string all(ScanOptions options = {}) {
    const auto table = db_->table("/t");
    if (!table) return table.error().message();
    auto scan = table->scan(std::move(options));
    if (!scan) return scan.error().message();
    std::string text;
    ScanBatch batch;
    for (;;) {
      const auto more = scan->next(batch);
      if (!more) return more.error().message();
      if (!*more) return text;
      EXPECT_EQ(batch.columns.size(), 2u);
      for (std::size_t i = 0; i < batch.rows; ++i) {
        text += text.empty() ? "" : " ";
        text += std::to_string(batch.columns[0].at(i).as_int64());
        text += "=" + std::string(batch.columns[1].at(i).text());
      }
    }
  }
  template <class T>
  std::string error_of(const Result<T>& result) {
    return result ? std::string("OK") : result.error().message();
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(StaticTablesTest, ASortedOneIsReadByKeysAndRangesAndSurvivesReopening) {
  for (const OptimizeFor format : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    TableOptions options;
    options.optimize_for = format;
    expect_ok(db_->run(db_->create_static_table("/t", plain_schema(true, true), options)));
    expect_ok(db_->run(db_->write_static_table("/t", numbered(0, 5))));
    expect_ok(db_->run(db_->write_static_table("/t", numbered(5, 8, "y"))));
    EXPECT_EQ(all(), "0=x 1=x 2=x 3=x 4=x 5=y 6=y 7=y");
    reopen();
    ScanOptions range;
    range.from = {Value(3)};
    range.to = {Value(6)};
    EXPECT_EQ(all(range), "3=x 4=x 5=y");
    EXPECT_EQ(name_of(*db_->table("/t"), 6), "y");
    EXPECT_EQ(name_of(*db_->table("/t"), 9), "-");
    EXPECT_FALSE(db_->run(db_->describe_table("/t"))->dynamic);
    expect_ok(db_->run(db_->remove_table("/t")));
  }
}

TEST_F(StaticTablesTest, OneWithoutKeyColumnsKeepsTheOrderGivenAndItsRowNumbersAreHidden) {
  expect_ok(db_->run(db_->create_static_table("/t", plain_schema(false, false))));
  const Rows first = {{{"id", 3}, {"name", "a"}}, {{"id", 1}, {"name", "b"}}};
  expect_ok(db_->run(db_->write_static_table("/t", first)));
  expect_ok(db_->run(db_->write_static_table("/t", first)));
  EXPECT_EQ(all(), "3=a 1=b 3=a 1=b");
  reopen();
  expect_ok(db_->run(db_->write_static_table("/t", numbered(2, 3))));
  EXPECT_EQ(all(), "3=a 1=b 3=a 1=b 2=x");
  const auto table = db_->table("/t");
  EXPECT_EQ(table->schema(), plain_schema(false, false));
  EXPECT_FALSE(table->columns({"$row_number"}));
  ScanOptions range;
  range.from = {Value(1)};
  range.to = {Value(3)};
  EXPECT_EQ(all(range), "1=b 3=a") << "ranges are row numbers";
  Rowset rows;
  EXPECT_TRUE(has(error_of(table->lookup({Value(1)}, {}, rows)), "unique keys"));
}

TEST_F(StaticTablesTest, KeysThatMayRepeatDoSoInTheOrderGiven) {
  expect_ok(db_->run(db_->create_static_table("/t", plain_schema(true, false))));
  const Rows rows = {
      {{"id", 1}, {"name", "a"}}, {{"id", 1}, {"name", "b"}}, {{"id", 2}, {"name", "c"}}};
  expect_ok(db_->run(db_->write_static_table("/t", rows)));
  expect_ok(db_->run(db_->write_static_table("/t", numbered(2, 4, "d"))));
  EXPECT_EQ(all(), "1=a 1=b 2=c 2=d 3=d");
  ScanOptions range;
  range.from = {Value(2)};
  range.to = {Value(3)};
  EXPECT_EQ(all(range), "2=c 2=d");
  EXPECT_TRUE(has(error_of(db_->run(db_->make_dynamic("/t"))), "New table schema is not valid"));
}

TEST_F(StaticTablesTest, AWriteIsWholeOrNotAtAll) {
  expect_ok(db_->run(db_->create_static_table("/t", plain_schema(true, true))));
  expect_ok(db_->run(db_->write_static_table("/t", numbered(0, 3))));
  const Rows descending = {{{"id", 9}}, {{"id", 8}}};
  const std::string order = error_of(db_->run(db_->write_static_table("/t", descending)));
  EXPECT_TRUE(has(order, "Sort order violation")) << order;
  EXPECT_TRUE(has(order, "(8) comes after key (9)")) << order;
  const Rows twice = {{{"id", 9}}, {{"id", 9}}};
  EXPECT_TRUE(has(error_of(db_->run(db_->write_static_table("/t", twice))), "Duplicate key (9)"));
  const std::string below = error_of(db_->run(db_->write_static_table("/t", numbered(2, 5))));
  EXPECT_TRUE(has(below, "(2) is not above (2)")) << below;
  const Rows unknown = {{{"id", 9}}, {{"id", 10}, {"nam", "x"}}};
  const std::string column = error_of(db_->run(db_->write_static_table("/t", unknown)));
  EXPECT_TRUE(has(column, "\"nam\"")) << column;
  EXPECT_TRUE(has(column, "row 1")) << column;
  EXPECT_EQ(all(), "0=x 1=x 2=x");
}

TEST_F(StaticTablesTest, MadeDynamicItHasItsRowsAtTheTimestampOfTheirWrite) {
  expect_ok(db_->run(db_->create_static_table("/t", plain_schema(true, true))));
  const Timestamp before = *db_->timestamp();
  expect_ok(db_->run(db_->write_static_table("/t", numbered(0, 3))));
  const Timestamp between = *db_->timestamp();
  expect_ok(db_->run(db_->write_static_table("/t", numbered(3, 4))));
  expect_ok(db_->run(db_->make_dynamic("/t")));
  EXPECT_TRUE(db_->run(db_->describe_table("/t"))->dynamic);
  EXPECT_EQ(db_->run(db_->describe_table("/t"))->state, MountState::kMounted);
  insert(*db_->table("/t"), {{"id", 1}, {"name", "new"}});
  EXPECT_EQ(all(), "0=x 1=new 2=x 3=x");
  ScanOptions old;
  old.read.timestamp = between;
  EXPECT_EQ(all(old), "0=x 1=x 2=x");
  old.read.timestamp = before;
  EXPECT_EQ(all(old), "");
  const Value key(2);
  const auto versions = db_->table("/t")->lookup_versions(Key(&key, 1), 0x3fffffffffffff01);
  ASSERT_TRUE(versions);
  ASSERT_EQ(versions->write_timestamps.size(), 1u);
  EXPECT_GT(versions->write_timestamps[0], before);
  EXPECT_LT(versions->write_timestamps[0], between);
  reopen();
  EXPECT_EQ(all(), "0=x 1=new 2=x 3=x");
  expect_ok(db_->run(db_->compact_table("/t")));
  EXPECT_EQ(all(), "0=x 1=new 2=x 3=x");
}

TEST_F(StaticTablesTest, StaticAndDynamicTablesRefuseEachOthersCalls) {
  expect_ok(db_->run(db_->create_static_table("/t", plain_schema(true, true))));
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const auto table = db_->table("/t");
  auto tx = db_->begin();
  EXPECT_TRUE(has(error_of(tx->insert(*table, {{"id", 1}})), "static table"));
  EXPECT_TRUE(has(error_of(db_->run(db_->mount_table("/t"))), "static table"));
  EXPECT_TRUE(has(error_of(db_->run(db_->unmount_table("/t"))), "static table"));
  EXPECT_TRUE(has(error_of(db_->run(db_->freeze_table("/t"))), "static table"));
  EXPECT_TRUE(has(error_of(db_->run(db_->reshard_table("/t", 2))), "static table"));
  expect_ok(db_->run(db_->alter_table("/t", plain_schema(true, true))));
  EXPECT_TRUE(has(error_of(db_->run(db_->remount_table("/t", {}))), "static table"));
  EXPECT_TRUE(
      has(error_of(db_->run(db_->write_static_table("/users", numbered(0, 1)))), "dynamic table"));
  expect_ok(db_->run(db_->make_dynamic("/users")));
  TableSchema weak = plain_schema(true, true);
  weak.strict = false;
  EXPECT_TRUE(has(error_of(db_->run(db_->create_static_table("/w", weak))), "strict"));
  expect_ok(db_->run(db_->create_static_table("/u", plain_schema(false, true))));
  EXPECT_TRUE(has(error_of(db_->run(db_->make_dynamic("/u"))), "at least one key column"));
}

TEST_F(StaticTablesTest, MetricsOfAllTablesAreReported) {
  TableOptions options;
  options.mount.lookup_cache_rows_per_tablet = 100;
  options.mount.enable_lookup_cache_by_default = true;
  expect_ok(db_->run(db_->create_table("/users", users_schema(), options)));
  const Table table = users();
  insert(table, {{"id", 1}, {"name", "x"}});
  expect_ok(db_->run(db_->flush_table("/users")));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(name_of(table, 1), "x");
  EXPECT_EQ(name_of(table, 2), "-");
  const std::string text = db_->run(db_->metrics());
  const std::string tag = "{table_path=\"/users\"} ";
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_row_count_total" + tag + "3\n")) << text;
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_missing_row_count_total" + tag + "1\n"));
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_cache_hits_total" + tag + "2\n"));
  EXPECT_TRUE(has(text, "yt_tablet_node_lookup_cache_inserts_total" + tag + "1\n"));
  EXPECT_TRUE(has(text, "moraine_table_commits_total" + tag + "1\n"));
  EXPECT_TRUE(has(text, "moraine_table_flushes_total" + tag + "1\n"));
  EXPECT_TRUE(has(text, "slab_allocator_lookup_alive_items{rank=\"16\"}"));
}

}  // namespace
}  // namespace moraine
