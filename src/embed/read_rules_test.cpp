// The rules of timestamps, schema changes and space, one test each, through the public API.

#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr Timestamp kAsyncLastCommitted = 0x3fffffffffffff04;

class ReadRules : public DatabaseTest {
 protected:
  Table make(const TableOptions& options = {}) {
    expect_ok(db_->run(db_->create_table("/users", users_schema(), options)));
    return users();
  }
  std::string read_at(const Table& table, std::int64_t id, Timestamp timestamp) {
    ReadOptions options;
    options.timestamp = timestamp;
    return name_of(table, id, options);
  }
  TabletReport tablet() {
    const auto report = db_->run(db_->describe_table("/users"));
    EXPECT_TRUE(report) << report.error().message();
    return report->tablets.front();
  }
};

TEST_F(ReadRules, SyncLastCommittedShowsEverythingThatWasCommittedBefore) {
  const Table table = make();
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    insert(table, {{"id", 1}, {"name", name}});
    EXPECT_EQ(name_of(table, 1), name);
  }
}

TEST_F(ReadRules, AsyncLastCommittedShowsWhatWasCommittedHereAsWell) {
  const Table table = make();
  insert(table, {{"id", 1}, {"name", "a"}});
  EXPECT_EQ(read_at(table, 1, kAsyncLastCommitted), "a");
}

TEST_F(ReadRules, WithoutAtomicitySyncAndAsyncReadsAreTheSame) {
  TableOptions options;
  options.atomicity = Atomicity::kNone;
  const Table table = make(options);
  for (int i = 0; i < 50; ++i) {
    TransactionOptions loose;
    loose.atomicity = Atomicity::kNone;
    auto tx = db_->begin(loose);
    ASSERT_TRUE(tx);
    const std::string text = std::to_string(i);
    expect_ok(tx->insert(table, {{"id", 1}, {"name", text}}));
    ASSERT_TRUE(tx->commit());
    EXPECT_EQ(name_of(table, 1), std::to_string(i));
    EXPECT_EQ(read_at(table, 1, kAsyncLastCommitted), std::to_string(i));
  }
}

TEST_F(ReadRules, OneTimestampIsOneSnapshotOverAllTables) {
  const Table table = make();
  expect_ok(db_->run(db_->create_table("/others", users_schema())));
  const auto others = db_->table("/others");
  ASSERT_TRUE(others);
  insert(table, {{"id", 1}, {"name", "old"}});
  insert(*others, {{"id", 1}, {"name", "old"}});
  const auto moment = db_->timestamp();
  ASSERT_TRUE(moment);
  insert(table, {{"id", 1}, {"name", "new"}});
  insert(*others, {{"id", 1}, {"name", "new"}});
  EXPECT_EQ(read_at(table, 1, *moment), "old");
  EXPECT_EQ(read_at(*others, 1, *moment), "old");
}

TEST_F(ReadRules, ASchemaChangesOnlyWhileTheTableIsUnmounted) {
  make();
  TableSchema wider = users_schema();
  wider.columns.push_back(column("city", ColumnType::kString));
  EXPECT_FALSE(db_->run(db_->alter_table("/users", wider)));
  expect_ok(db_->run(db_->unmount_table("/users")));
  expect_ok(db_->run(db_->alter_table("/users", wider)));
}

TEST_F(ReadRules, ASchemaChangeLeavesWrittenDataAsItIs) {
  const Table table = make();
  for (std::int64_t id = 0; id < 500; ++id) insert(table, {{"id", id}, {"name", "x"}});
  expect_ok(db_->run(db_->flush_table("/users")));
  expect_ok(db_->run(db_->settle_table("/users")));
  expect_ok(db_->run(db_->unmount_table("/users")));
  const std::uint64_t written = db_->run(db_->device_bytes_written());
  TableSchema wider = users_schema();
  wider.columns.push_back(column("city", ColumnType::kString));
  expect_ok(db_->run(db_->alter_table("/users", wider)));
  expect_ok(db_->run(db_->mount_table("/users")));
  expect_ok(db_->run(db_->settle_table("/users")));
  EXPECT_LT(db_->run(db_->device_bytes_written()) - written, 256u << 10) << "states, and no rows";
  EXPECT_EQ(tablet().chunks, 1u);
  EXPECT_EQ(name_of(users(), 499), "x");
}

// No auto_compaction_period is set: compaction detects deleted rows itself.
TEST_F(ReadRules, SpaceOfDeletedRowsIsFreedByItself) {
  TableOptions options;
  options.mount.min_data_ttl = options.mount.max_data_ttl = std::chrono::milliseconds(0);
  const Table table = make(options);
  constexpr std::int64_t kLive = 1'000;
  constexpr std::int64_t kTurns = 8;
  const std::string name(500, 'n');
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    auto tx = db_->begin();
    ASSERT_TRUE(tx);
    for (std::int64_t i = 0; i < kLive; ++i) {
      const std::int64_t id = turn * kLive + i;
      expect_ok(tx->insert(table, {{"id", id}, {"name", name}}));
      if (turn > 0) expect_ok(tx->remove(table, {Value(id - kLive)}));
    }
    ASSERT_TRUE(tx->commit());
    expect_ok(db_->run(db_->flush_table("/users")));
  }
  expect_ok(db_->run(db_->settle_table("/users")));
  EXPECT_LT(tablet().uncompressed_bytes, 2 * kLive * 520);
  ScanOptions all;
  auto scan = table.scan(all);
  ASSERT_TRUE(scan);
  ScanBatch batch;
  std::size_t rows = 0;
  for (auto more = scan->next(batch); more && *more; more = scan->next(batch)) rows += batch.rows;
  EXPECT_EQ(rows, static_cast<std::size_t>(kLive));
}

}  // namespace
}  // namespace moraine
