#include "embed/test_database.h"

namespace moraine {
namespace {

TEST_F(DatabaseTest, WhatWasCommittedIsReadAndSurvivesReopening) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  {
    const Table table = users();
    insert(table, {{"id", 1}, {"name", "Ada"}});
    insert(table, {{"id", 2}, {"name", "Grace"}});
    EXPECT_EQ(name_of(table, 1), "Ada");
    EXPECT_EQ(name_of(table, 3), "-");
  }
  reopen();
  EXPECT_EQ(name_of(users(), 1), "Ada");
  EXPECT_EQ(name_of(users(), 2), "Grace");
  expect_ok(db_->run(db_->flush_table("/users")));
  EXPECT_EQ(name_of(users(), 2), "Grace");
  reopen();
  EXPECT_EQ(name_of(users(), 2), "Grace");
}

TEST_F(DatabaseTest, ATransactionReadsItsStartAndNotItsOwnWrites) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  insert(table, {{"id", 1}, {"name", "old"}});
  auto tx = db_->begin();
  ASSERT_TRUE(tx);
  insert(table, {{"id", 1}, {"name", "new"}});
  expect_ok(tx->insert(table, {{"id", 5}, {"name", "mine"}}));
  const Value one(1);
  const Value five(5);
  const Key keys[] = {Key(&one, 1), Key(&five, 1)};
  Rowset rows;
  expect_ok(tx->lookup(table, keys, {}, rows));
  EXPECT_EQ(rows.at(0, 1).text(), "old");
  EXPECT_FALSE(rows.exists(1));
  EXPECT_TRUE(tx->commit());
  EXPECT_EQ(name_of(table, 5), "mine");
}

TEST_F(DatabaseTest, TheSecondOfTwoWritersOfARowLoses) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  auto first = db_->begin();
  auto second = db_->begin();
  expect_ok(first->insert(table, {{"id", 1}, {"name", "first"}}));
  expect_ok(second->insert(table, {{"id", 1}, {"name", "second"}}));
  EXPECT_TRUE(first->commit());
  const auto lost = second->commit();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kAborted) << lost.error().message();
  EXPECT_EQ(name_of(table, 1), "first");
}

TEST_F(DatabaseTest, TransactionsOverTabletsAndTablesAreAtomic) {
  const std::vector<std::vector<Value>> pivots = {{Value(100)}, {Value(200)}};
  expect_ok(db_->run(db_->create_table("/users", users_schema(), {}, pivots)));
  expect_ok(db_->run(db_->create_table("/deep/er/users", users_schema())));
  const Table table = users();
  const auto other = db_->table("/deep/er/users");
  ASSERT_TRUE(other);
  auto tx = db_->begin();
  for (const std::int64_t id : {1, 150, 250}) {
    expect_ok(tx->insert(table, {{"id", id}, {"name", "x"}}));
  }
  expect_ok(tx->insert(*other, {{"id", 7}, {"name", "y"}}));
  const auto committed = tx->commit();
  ASSERT_TRUE(committed) << committed.error().message();
  for (const std::int64_t id : {1, 150, 250}) EXPECT_EQ(name_of(table, id), "x") << id;
  EXPECT_EQ(name_of(*other, 7), "y");
  ReadOptions before;
  before.timestamp = *committed - 1;
  EXPECT_EQ(name_of(table, 150, before), "-");
}

TEST_F(DatabaseTest, ScansReturnRowsInKeyOrderOverTabletsWithinBoundsAndFilters) {
  const std::vector<std::vector<Value>> pivots = {{Value(50)}};
  expect_ok(db_->run(db_->create_table("/users", users_schema(), {}, pivots)));
  const Table table = users();
  auto tx = db_->begin();
  for (std::int64_t id = 0; id < 100; ++id) {
    expect_ok(tx->insert(table, {{"id", id}, {"name", "n"}, {"score", id % 10}}));
  }
  ASSERT_TRUE(tx->commit());
  for (const bool flushed : {false, true}) {
    if (flushed) expect_ok(db_->run(db_->flush_table("/users")));
    ScanOptions options;
    options.from = {Value(10)};
    options.to = {Value(90)};
    options.filters = {{"score", Filter::Op::kEqual, Value(3)}};
    auto scan = table.scan(options);
    ASSERT_TRUE(scan) << scan.error().message();
    std::vector<std::int64_t> ids;
    ScanBatch batch;
    for (;;) {
      const auto more = scan->next(batch);
      ASSERT_TRUE(more) << more.error().message();
      if (!*more) break;
      for (std::size_t i = 0; i < batch.rows; ++i) ids.push_back(batch.columns[0].at(i).as_int64());
    }
    EXPECT_EQ(ids, (std::vector<std::int64_t>{13, 23, 33, 43, 53, 63, 73, 83})) << flushed;
  }
}

TEST_F(DatabaseTest, DeltasAreAdded) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  WriteOptions delta;
  delta.aggregate = true;
  for (int i = 0; i < 3; ++i) insert(table, {{"id", 1}, {"score", 10}}, delta);
  Rowset rows;
  expect_ok(table.lookup({Value(1)}, {}, rows));
  EXPECT_EQ(rows.at(0, 2).as_int64(), 30);
}

TEST_F(DatabaseTest, TablesAreUnmountedAlteredReshardedAndMountedAgainWithTheirRows) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  {
    const Table table = users();
    for (std::int64_t id = 0; id < 300; ++id) insert(table, {{"id", id}, {"name", "before"}});
  }
  expect_ok(db_->run(db_->unmount_table("/users")));
  EXPECT_EQ(db_->run(db_->describe_table("/users"))->state, MountState::kUnmounted);
  TableSchema wider = users_schema();
  wider.columns.push_back(column("extra", ColumnType::kString));
  expect_ok(db_->run(db_->alter_table("/users", wider)));
  const std::vector<std::vector<Value>> pivots = {{Value(100)}, {Value(200)}};
  expect_ok(db_->run(db_->reshard_table("/users", pivots)));
  expect_ok(db_->run(db_->mount_table("/users")));
  EXPECT_EQ(db_->run(db_->describe_table("/users"))->tablets.size(), 3u);
  {
    const Table table = users();
    insert(table, {{"id", 150}, {"name", "after"}, {"extra", "e"}});
    for (std::int64_t id = 0; id < 300; ++id) {
      EXPECT_EQ(name_of(table, id), id == 150 ? "after" : "before") << id;
    }
  }
  reopen();
  EXPECT_EQ(name_of(users(), 299), "before");
  EXPECT_EQ(name_of(users(), 150), "after");
}

TEST_F(DatabaseTest, ATableTakenBeforeItsSchemaChangedIsNotReadByIt) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table old = users();
  insert(old, {{"id", 1}, {"name", "x"}, {"score", 42}});
  ReadOptions score;
  score.columns = old.columns({"score"}).value();
  expect_ok(db_->run(db_->unmount_table("/users")));
  expect_ok(db_->run(db_->mount_table("/users")));
  EXPECT_EQ(name_of(old, 1), "x") << "mounted again with the same schema";
  expect_ok(db_->run(db_->unmount_table("/users")));
  TableSchema swapped = users_schema();
  std::swap(swapped.columns[1], swapped.columns[2]);
  expect_ok(db_->run(db_->alter_table("/users", swapped)));
  expect_ok(db_->run(db_->mount_table("/users")));
  Rowset rows;
  EXPECT_EQ(old.lookup({Value(1)}, score, rows).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(old.scan().error().code, Errc::kInvalidArgument);
  const Value key(1);
  EXPECT_EQ(old.lookup_versions(Key(&key, 1), 0x3fffffffffffff04).error().code,
            Errc::kInvalidArgument);
  score.columns = users().columns({"score"}).value();
  expect_ok(users().lookup({Value(1)}, score, rows));
  EXPECT_EQ(rows.at(0, 0).as_int64(), 42);
}

TEST_F(DatabaseTest, ATableThatIsNotMountedIsDescribedWithWhatItHolds) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  {
    const Table table = users();
    for (std::int64_t id = 0; id < 300; ++id) insert(table, {{"id", id}, {"name", "x"}});
  }
  expect_ok(db_->run(db_->unmount_table("/users")));
  const auto rows_and_chunks = [this] {
    const auto report = db_->run(db_->describe_table("/users"));
    EXPECT_TRUE(report) << report.error().message();
    std::pair<std::uint64_t, std::uint64_t> sum;
    for (const TabletReport& tablet : report->tablets) {
      EXPECT_EQ(tablet.state, MountState::kUnmounted);
      EXPECT_EQ(tablet.error, "");
      EXPECT_GT(tablet.disk_bytes, 0u);
      sum.first += tablet.rows;
      sum.second += tablet.chunks;
    }
    return sum;
  };
  EXPECT_EQ(rows_and_chunks().first, 300u);
  EXPECT_GT(rows_and_chunks().second, 0u);
  reopen();
  EXPECT_EQ(rows_and_chunks().first, 300u) << "nothing has counted the rows again";
  const std::vector<std::vector<Value>> pivots = {{Value(100)}, {Value(200)}};
  expect_ok(db_->run(db_->reshard_table("/users", pivots)));
  EXPECT_NEAR(static_cast<double>(rows_and_chunks().first), 300, 3) << "each row is counted once";
}

TEST_F(DatabaseTest, ErrorsNameTheMistake) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  auto tx = db_->begin();
  const auto unknown = tx->insert(table, {{"id", 1}, {"nam", "x"}});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().context.find("nam"), std::string::npos);
  EXPECT_FALSE(tx->insert(table, {{"id", "one"}, {"name", "x"}}));
  EXPECT_EQ(db_->table("/nobody").error().code, Errc::kNotFound);
  EXPECT_EQ(db_->run(db_->create_table("/users", users_schema())).error().code,
            Errc::kAlreadyExists);
  EXPECT_EQ(db_->run(db_->alter_table("/users", users_schema())).error().code, Errc::kReadOnly);
  expect_ok(db_->run(db_->freeze_table("/users")));
  auto late = db_->begin();
  expect_ok(late->insert(table, {{"id", 1}, {"name", "x"}}));
  EXPECT_EQ(late->commit().error().code, Errc::kReadOnly);
  EXPECT_EQ(name_of(table, 1), "-");
}

TEST_F(DatabaseTest, ARemovedTableIsGone) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  {
    const Table table = users();
    insert(table, {{"id", 1}, {"name", "x"}});
  }
  expect_ok(db_->run(db_->remove_table("/users")));
  EXPECT_EQ(db_->table("/users").error().code, Errc::kNotFound);
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  EXPECT_EQ(name_of(users(), 1), "-");
}

TEST_F(DatabaseTest, CoroutinesCommitAndReadOnTheDatabasesThread) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  const auto committed = db_->run<Result<Timestamp>>([&]() -> Task<Result<Timestamp>> {
    auto tx = co_await db_->begin_async();
    const auto written = tx->insert(table, {{"id", 1}, {"name", "x"}});
    EXPECT_TRUE(written);
    co_return co_await tx->commit_async();
  });
  EXPECT_TRUE(committed);
  EXPECT_EQ(name_of(table, 1), "x");
}

}  // namespace
}  // namespace moraine
