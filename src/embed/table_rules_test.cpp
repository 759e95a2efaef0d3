// The rules of sorted tables, one test each, through the public API.

#include <fmt/format.h>

#include "embed/test_database.h"

namespace moraine {
namespace {

class TableRules : public DatabaseTest {
 protected:
  // k int64, v string, w string; min_data_ttl 0, so that compaction may act at once.
  Table make(TableMountOptions mount = keep_nothing()) {
    TableSchema schema;
    schema.columns = {column("k", ColumnType::kInt64, true), column("v", ColumnType::kString),
                      column("w", ColumnType::kString)};
    return make(schema, mount);
  }
  Table make(const TableSchema& schema, TableMountOptions mount = keep_nothing()) {
    TableOptions options;
    options.mount = mount;
    expect_ok(db_->run(db_->create_table("/t", schema, options)));
    auto table = db_->table("/t");
    EXPECT_TRUE(table) << table.error().message();
    return std::move(*table);
  }
  static TableMountOptions keep_nothing() {
    TableMountOptions mount;
    mount.min_data_ttl = mount.max_data_ttl = std::chrono::milliseconds(0);
    return mount;
  }
  void erase(const Table& table, std::int64_t id) {
    auto tx = db_->begin();
    expect_ok(tx->remove(table, {Value(id)}));
    const auto committed = tx->commit();
    EXPECT_TRUE(committed) << committed.error().message();
  }
  // "v/w", "#" for null, "-" for no row.
  std::string read(const Table& table, std::int64_t id, ReadOptions options = {}) {
    Rowset rows;
    const auto found = table.lookup({Value(id)}, options, rows);
    if (!found) return found.error().message();
    if (!rows.exists(0)) return "-";
    std::string text;
    for (std::size_t i = 1; i < rows.columns(); ++i) {
      if (i > 1) text += '/';
      const Value& value = rows.at(0, i);
      text += value.is_null()    ? "#"
              : value.has_text() ? std::string(value.text())
                                 : fmt::format("{}", value.as_int64());
    }
    return text;
  }
  std::string read_at(const Table& table, std::int64_t id, Timestamp timestamp) {
    ReadOptions options;
    options.timestamp = timestamp;
    return read(table, id, options);
  }
  void flush() { expect_ok(db_->run(db_->flush_table("/t"))); }
  void compact() { expect_ok(db_->run(db_->compact_table("/t"))); }
  std::size_t versions(const Table& table, std::int64_t id) {
    const Value key(id);
    const auto found = table.lookup_versions(Key(&key, 1), 0x3fffffffffffff04);
    EXPECT_TRUE(found) << found.error().message();
    return found->write_timestamps.size() + found->delete_timestamps.size();
  }
};

TEST_F(TableRules, AKeyIsUniqueAndTheLastWriteIsRead) {
  const Table table = make();
  insert(table, {{"k", 1}, {"v", "a"}});
  insert(table, {{"k", 1}, {"v", "b"}});
  EXPECT_EQ(read(table, 1), "b/#");
}

TEST_F(TableRules, ATableNeedsAValueColumn) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kInt64, true)};
  EXPECT_EQ(db_->run(db_->create_table("/t", schema)).error().code, Errc::kInvalidArgument);
  schema.columns.clear();
  EXPECT_FALSE(db_->run(db_->create_table("/t", schema)));
}

TEST_F(TableRules, AnInsertSetsColumnsThatAreNotNamedToNull) {
  const Table table = make();
  insert(table, {{"k", 1}, {"v", "a"}, {"w", "b"}});
  insert(table, {{"k", 1}, {"v", "c"}});
  EXPECT_EQ(read(table, 1), "c/#");
}

TEST_F(TableRules, AnUpdateKeepsColumnsThatAreNotNamed) {
  const Table table = make();
  insert(table, {{"k", 1}, {"v", "a"}, {"w", "b"}});
  insert(table, {{"k", 1}, {"v", "c"}}, {.update = true});
  EXPECT_EQ(read(table, 1), "c/b");
  flush();
  EXPECT_EQ(read(table, 1), "c/b");
  compact();
  EXPECT_EQ(read(table, 1), "c/b");
}

TEST_F(TableRules, AnUpdateNamesAllRequiredColumns) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kInt64, true), column("v", ColumnType::kString),
                    column("w", ColumnType::kString)};
  schema.columns[1].required = true;
  const Table table = make(schema);
  insert(table, {{"k", 1}, {"v", "a"}});
  auto tx = db_->begin();
  const auto written = tx->insert(table, {{"k", 1}, {"w", "b"}}, {.update = true});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().context.find("v"), std::string::npos);
}

TEST_F(TableRules, ALookupSeesVersionsAtOrBelowItsTimestamp) {
  const Table table = make(TableMountOptions());
  const Timestamp first = insert(table, {{"k", 1}, {"v", "a"}});
  const Timestamp second = insert(table, {{"k", 1}, {"v", "b"}});
  for (const bool flushed : {false, true}) {
    if (flushed) flush();
    EXPECT_EQ(read_at(table, 1, first - 1), "-");
    EXPECT_EQ(read_at(table, 1, first), "a/#");
    EXPECT_EQ(read_at(table, 1, second - 1), "a/#");
    EXPECT_EQ(read_at(table, 1, second), "b/#");
  }
}

TEST_F(TableRules, ALookupNamesEveryKeyColumn) {
  TableSchema schema;
  schema.columns = {column("a", ColumnType::kInt64, true), column("b", ColumnType::kString, true),
                    column("v", ColumnType::kString)};
  const Table table = make(schema);
  insert(table, {{"a", 1}, {"b", "x"}, {"v", "found"}});
  Rowset rows;
  expect_ok(table.lookup({Value(1), Value("x")}, {}, rows));
  EXPECT_TRUE(rows.exists(0));
  EXPECT_EQ(table.lookup({Value(1)}, {}, rows).error().code, Errc::kInvalidArgument);
}

TEST_F(TableRules, OneLookupReadsManyKeysInTheOrderAsked) {
  const Table table = make();
  for (std::int64_t id = 0; id < 10; ++id) {
    const std::string text = fmt::format("{}", id);
    insert(table, {{"k", id}, {"v", text}});
  }
  const Value values[] = {Value(7), Value(3), Value(77), Value(7)};
  const Key keys[] = {Key(&values[0], 1), Key(&values[1], 1), Key(&values[2], 1),
                      Key(&values[3], 1)};
  Rowset rows;
  expect_ok(table.lookup(keys, {}, rows));
  EXPECT_EQ(rows.at(0, 1).text(), "7");
  EXPECT_EQ(rows.at(1, 1).text(), "3");
  EXPECT_FALSE(rows.exists(2));
  EXPECT_EQ(rows.at(3, 1).text(), "7");
}

TEST_F(TableRules, DeletingARowThatIsNotThereChangesNothing) {
  const Table table = make();
  erase(table, 5);
  EXPECT_EQ(read(table, 5), "-");
}

TEST_F(TableRules, ADeletedRowIsGoneAndSeenAtOlderTimestamps) {
  const Table table = make(TableMountOptions());
  const Timestamp written = insert(table, {{"k", 1}, {"v", "a"}});
  erase(table, 1);
  EXPECT_EQ(read(table, 1), "-");
  EXPECT_EQ(read_at(table, 1, written), "a/#");
  flush();
  EXPECT_EQ(read(table, 1), "-");
  EXPECT_EQ(read_at(table, 1, written), "a/#");
}

TEST_F(TableRules, NullsDoNotMakeARowVanish) {
  const Table table = make();
  insert(table, {{"k", 1}});
  EXPECT_EQ(read(table, 1), "#/#");
  flush();
  compact();
  EXPECT_EQ(read(table, 1), "#/#");
}

TEST_F(TableRules, ARowWrittenAfterItsDeletionHasNothingOfItsFormerLife) {
  const Table table = make();
  insert(table, {{"k", 1}, {"v", "a"}, {"w", "b"}});
  flush();
  erase(table, 1);
  insert(table, {{"k", 1}, {"v", "c"}}, {.update = true});
  EXPECT_EQ(read(table, 1), "c/#");
  flush();
  EXPECT_EQ(read(table, 1), "c/#");
  compact();
  EXPECT_EQ(read(table, 1), "c/#");
}

TEST_F(TableRules, CompactionDropsWhatRetentionAllowsAndKeepsTheNewest) {
  const Table table = make();
  for (int i = 0; i < 5; ++i) {
    const std::string text = fmt::format("{}", i);
    insert(table, {{"k", 1}, {"v", text}});
  }
  insert(table, {{"k", 2}, {"v", "x"}});
  erase(table, 2);
  EXPECT_EQ(versions(table, 1), 5u) << "memory keeps all; what is flushed may be compacted at once";
  flush();
  compact();
  EXPECT_EQ(versions(table, 1), 1u);
  EXPECT_EQ(read(table, 1), "4/#");
  EXPECT_EQ(versions(table, 2), 0u) << "the tombstone was dropped, nothing older exists";
}

TEST_F(TableRules, MinDataVersionsAreKept) {
  TableMountOptions mount = keep_nothing();
  mount.min_data_versions = mount.max_data_versions = 3;
  const Table table = make(mount);
  for (int i = 0; i < 5; ++i) {
    const std::string text = fmt::format("{}", i);
    insert(table, {{"k", 1}, {"v", text}});
  }
  flush();
  compact();
  EXPECT_EQ(versions(table, 1), 3u);
}

TEST_F(TableRules, MinDataTtlKeepsEveryVersionOfTheLastMoments) {
  const Table table = make(TableMountOptions());
  for (int i = 0; i < 5; ++i) {
    const std::string text = fmt::format("{}", i);
    insert(table, {{"k", 1}, {"v", text}});
  }
  flush();
  compact();
  EXPECT_EQ(versions(table, 1), 5u);
}

TEST_F(TableRules, ReadingBelowTheRetainedTimestampIsRefused) {
  const Table table = make();
  const Timestamp first = insert(table, {{"k", 1}, {"v", "a"}});
  insert(table, {{"k", 1}, {"v", "b"}});
  flush();
  compact();
  EXPECT_NE(read_at(table, 1, first).find("retained timestamp"), std::string::npos)
      << read_at(table, 1, first);
}

TEST_F(TableRules, DeltasAreFoldedByReadsAndByCompaction) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kInt64, true), column("n", ColumnType::kInt64)};
  for (const auto& [aggregate, expected] :
       std::map<Aggregate, std::string>{{Aggregate::kSum, "60"},
                                        {Aggregate::kMin, "10"},
                                        {Aggregate::kMax, "30"},
                                        {Aggregate::kFirst, "20"}}) {
    schema.columns[1].aggregate = aggregate;
    {
      const Table table = make(schema);
      for (const int delta : {20, 10, 30}) {
        insert(table, {{"k", 1}, {"n", delta}}, {.aggregate = true});
      }
      EXPECT_EQ(read(table, 1), expected);
      flush();
      EXPECT_EQ(read(table, 1), expected);
      compact();
      EXPECT_EQ(read(table, 1), expected);
      EXPECT_EQ(versions(table, 1), 1u);
      insert(table, {{"k", 1}, {"n", 5}});
      EXPECT_EQ(read(table, 1), "5") << "without the flag it is overwritten";
      erase(table, 1);
      insert(table, {{"k", 1}, {"n", 7}}, {.aggregate = true});
      EXPECT_EQ(read(table, 1), "7") << "a delete resets the sum";
    }
    expect_ok(db_->run(db_->remove_table("/t")));
  }
}

TEST_F(TableRules, ALockedRowIsNotChangedByOthers) {
  const Table table = make();
  insert(table, {{"k", 1}, {"v", "a"}});
  const Value key(1);
  auto reader = db_->begin();
  expect_ok(reader->lock(table, Key(&key, 1), RowLock::kSharedStrong));
  expect_ok(reader->insert(table, {{"k", 2}, {"v", "derived"}}));
  auto writer = db_->begin();
  expect_ok(writer->insert(table, {{"k", 1}, {"v", "b"}}));
  EXPECT_TRUE(reader->commit());
  EXPECT_EQ(writer->commit().error().code, Errc::kAborted);
}

TEST_F(TableRules, SeveralTransactionsLockOneRow) {
  const Table table = make();
  const Value key(1);
  auto one = db_->begin();
  auto two = db_->begin();
  for (auto* tx : {&*one, &*two}) {
    expect_ok(tx->lock(table, Key(&key, 1), RowLock::kSharedStrong));
  }
  EXPECT_TRUE(one->commit());
  EXPECT_TRUE(two->commit());
}

TEST_F(TableRules, ColumnsOfOtherLockGroupsDoNotConflict) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kInt64, true), column("v", ColumnType::kString),
                    column("w", ColumnType::kString)};
  schema.columns[1].lock = "one";
  schema.columns[2].lock = "two";
  const Table table = make(schema);
  insert(table, {{"k", 1}, {"v", "a"}, {"w", "b"}});
  auto one = db_->begin();
  auto two = db_->begin();
  auto three = db_->begin();
  expect_ok(one->insert(table, {{"k", 1}, {"v", "c"}}, {.update = true}));
  expect_ok(two->insert(table, {{"k", 1}, {"w", "d"}}, {.update = true}));
  expect_ok(three->insert(table, {{"k", 1}, {"v", "e"}}, {.update = true}));
  EXPECT_TRUE(one->commit());
  EXPECT_TRUE(two->commit());
  EXPECT_EQ(three->commit().error().code, Errc::kAborted);
  EXPECT_EQ(read(table, 1), "c/d");
}

TEST_F(TableRules, AComputedColumnIsComputed) {
  TableSchema schema;
  schema.columns = {column("hash", ColumnType::kUint64, true),
                    column("k", ColumnType::kInt64, true), column("v", ColumnType::kString)};
  schema.columns[0].expression = "farm_hash(k)";
  const Table table = make(schema);
  insert(table, {{"k", 2}, {"v", "x"}});
  Rowset rows;
  expect_ok(table.lookup({Value(2)}, {}, rows));
  ASSERT_TRUE(rows.exists(0));
  EXPECT_EQ(rows.at(0, 0).as_uint64(), 3427386618069609762u);
  auto tx = db_->begin();
  EXPECT_FALSE(tx->insert(table, {{"hash", 1u}, {"k", 2}, {"v", "x"}}));
}

TEST_F(TableRules, LongValuesLieApartAndAreReadAsOthers) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kInt64, true), column("v", ColumnType::kString),
                    column("w", ColumnType::kString)};
  schema.columns[1].max_inline_hunk_size = 100;
  const Table table = make(schema);
  const std::string longer(50'000, 'x');
  insert(table, {{"k", 1}, {"v", longer}, {"w", "short"}});
  flush();
  EXPECT_EQ(read(table, 1), longer + "/short");
  compact();
  EXPECT_EQ(read(table, 1), longer + "/short");
}

TEST_F(TableRules, CachedRowsAreKeptTrueByWrites) {
  TableMountOptions mount = keep_nothing();
  mount.lookup_cache_rows_ratio = 0.5;
  mount.enable_lookup_cache_by_default = true;
  const Table table = make(mount);
  for (std::int64_t id = 0; id < 100; ++id) insert(table, {{"k", id}, {"v", "old"}});
  flush();
  for (int round = 0; round < 3; ++round) EXPECT_EQ(read(table, 7), "old/#");
  insert(table, {{"k", 7}, {"v", "new"}});
  EXPECT_EQ(read(table, 7), "new/#");
  flush();
  EXPECT_EQ(read(table, 7), "new/#");
  erase(table, 7);
  EXPECT_EQ(read(table, 7), "-");
  flush();
  EXPECT_EQ(read(table, 7), "-");
  ReadOptions past;
  past.use_lookup_cache = false;
  EXPECT_EQ(read(table, 7, past), "-");
}

}  // namespace
}  // namespace moraine
