// Impossible requests are refused with an error that uses the caller's names.

#include <functional>

#include "embed/test_database.h"

namespace moraine {
namespace {

using std::chrono::milliseconds;

class Refusals : public DatabaseTest {
 protected:
  template <class T>
  static std::string outcome(const Result<T>& result) {
    return result ? "ok" : result.error().message();
  }
  static void expect_has(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  std::string begin(milliseconds timeout) {
    TransactionOptions options;
    options.timeout = timeout;
    return outcome(db_->begin(options));
  }
};

TEST_F(Refusals, ATransactionsTimeoutIsAboveZeroAndAtMostAnHour) {
  EXPECT_EQ(begin(milliseconds(0)),
            "invalid argument: a transaction's timeout is above 0 and at most 3600000 ms; 0 ms was "
            "given");
  expect_has(begin(milliseconds(-1)), "; -1 ms was given");
  expect_has(begin(milliseconds::max()), "invalid argument");
  expect_has(begin(milliseconds(kTransactionTimeoutMax) + milliseconds(1)), "invalid argument");
  EXPECT_EQ(begin(kTransactionTimeoutMax), "ok");
  EXPECT_EQ(begin(milliseconds(1)), "ok");
  const auto awaited = db_->run<Result<Transaction>>([&] {
    TransactionOptions options;
    options.timeout = milliseconds(0);
    return db_->begin_async(options);
  });
  EXPECT_EQ(outcome(awaited), begin(milliseconds(0)));
}

TEST_F(Refusals, EveryCallOfAMissingTableSaysSoWithItsPath) {
  const std::vector<std::vector<Value>> pivots = {{Value(1)}};
  const std::string expected = "not found: no table /a/none";
  const std::string_view path = "/a/none";
  EXPECT_EQ(outcome(db_->table(path)), expected);
  EXPECT_EQ(outcome(db_->run(db_->describe_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->remove_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->mount_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->unmount_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->freeze_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->unfreeze_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->remount_table(path, {}))), expected);
  EXPECT_EQ(outcome(db_->run(db_->alter_table(path, users_schema()))), expected);
  EXPECT_EQ(outcome(db_->run(db_->set_options(path, {}))), expected);
  EXPECT_EQ(outcome(db_->run(db_->reshard_table(path, pivots))), expected);
  EXPECT_EQ(outcome(db_->run(db_->reshard_table(path, std::size_t{2}))), expected);
  EXPECT_EQ(outcome(db_->run(db_->flush_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->compact_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->settle_table(path))), expected);
  EXPECT_EQ(outcome(db_->run(db_->write_static_table(path, {}))), expected);
  EXPECT_EQ(outcome(db_->run(db_->make_dynamic(path))), expected);
}

TEST_F(Refusals, ErrorsOfATableNameItsWholePath) {
  expect_ok(db_->run(db_->create_table("/a/t", users_schema())));
  const auto table = db_->table("/a/t");
  ASSERT_TRUE(table);
  EXPECT_EQ(outcome(db_->run(db_->create_table("/a/t", users_schema()))),
            "already exists: /a/t is a table");
  expect_has(outcome(db_->run(db_->create_table("/a", users_schema()))), "'/a' is a directory");
  expect_has(outcome(db_->run(db_->create_table("/a/t/u", users_schema()))),
             "'/a/t' is a table, not");
  expect_has(outcome(db_->run(db_->alter_table("/a/t", users_schema()))), " of /a/t is mounted");
  insert(*table, {{"id", 1}, {"name", "x"}});
  auto late = db_->begin();
  insert(*table, {{"id", 1}, {"name", "y"}});
  expect_ok(late->insert(*table, {{"id", 1}, {"name", "z"}}));
  expect_has(outcome(late->commit()), "/a/t");
  expect_ok(db_->run(db_->unmount_table("/a/t")));
  Rowset rows;
  expect_has(outcome(table->lookup({Value(1)}, {}, rows)), " /a/t ");
  auto tx = db_->begin();
  expect_ok(tx->insert(*table, {{"id", 1}, {"name", "x"}}));
  expect_has(outcome(tx->commit()), "Table /a/t has no mounted tablets");
  expect_has(outcome(db_->run(db_->flush_table("/a/t"))), "/a/t is not mounted");
  EXPECT_EQ(outcome(db_->run(db_->settle_table("/a/t"))), "ok")
      << "a table that is not mounted has no work";
}

TEST_F(Refusals, AReshardByCountReturnsTheNumberOfTablets) {
  expect_ok(db_->run(db_->create_table("/t", users_schema())));
  {
    const auto table = db_->table("/t");
    insert(*table, {{"id", 1}, {"name", "x"}});
  }
  expect_ok(db_->run(db_->unmount_table("/t")));
  const auto made = db_->run(db_->reshard_table("/t", std::size_t{8}));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_LT(*made, 8u);
  EXPECT_EQ(*made, db_->run(db_->describe_table("/t"))->tablets.size());
  EXPECT_EQ(db_->run(db_->reshard_table("/t", std::size_t{1})).value_or(0), 1u);
}

TEST_F(Refusals, OnlyEmptyDirectoriesAreRemoved) {
  expect_ok(db_->run(db_->create_table("/a/b/t", users_schema())));
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/a/b"))),
            "conflict: directory /a/b is not empty: there is /a/b/t");
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/a"))),
            "conflict: directory /a is not empty: there is /a/b");
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/a/b/t"))),
            "invalid argument: /a/b/t is a table, not a directory");
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/a/c"))), "not found: no directory /a/c");
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/"))), "not found: no directory /");
  expect_ok(db_->run(db_->remove_table("/a/b/t")));
  expect_ok(db_->run(db_->remove_directory("/a/b")));
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/a/b"))), "not found: no directory /a/b");
  const auto awaited = db_->run<Result<void>>([&] { return db_->remove_directory("/a"); });
  EXPECT_EQ(outcome(awaited), "ok");
  reopen();
  EXPECT_EQ(outcome(db_->run(db_->remove_directory("/a"))), "not found: no directory /a");
  EXPECT_EQ(outcome(db_->run(db_->create_table("/a", users_schema()))), "ok") << "the name is free";
}

TEST_F(Refusals, CallsOnARemovedTableSaySo) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  insert(table, {{"id", 1}, {"name", "x"}});
  auto tx = db_->begin();
  ASSERT_TRUE(tx);
  expect_ok(tx->insert(table, {{"id", 2}, {"name", "y"}}));
  expect_ok(db_->run(db_->remove_table("/users")));
  const std::string removed =
      "not found: table /users was removed; if there is one of that name again, take it anew";
  EXPECT_EQ(name_of(table, 1), removed);
  EXPECT_EQ(outcome(tx->commit()), removed);
  auto later = db_->begin();
  ASSERT_TRUE(later);
  EXPECT_EQ(outcome(later->insert(table, {{"id", 3}, {"name", "z"}})), removed);
  auto scan = table.scan();
  ScanBatch batch;
  EXPECT_EQ(scan ? outcome(scan->next(batch)) : outcome(scan), removed);
  const Value one(1);
  EXPECT_EQ(outcome(table.lookup_versions(Key(&one, 1), kMaxTimestamp)), removed);
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  EXPECT_EQ(name_of(table, 1), removed) << "another table has that name now";
  EXPECT_EQ(name_of(users(), 1), "-");
}

// A limit that forbids to drop a version wins over one that permits it: a minimum above the maximum
// is valid.
TEST_F(Refusals, AMinimumOfVersionsOrAgeAboveTheMaximumIsTaken) {
  TableOptions options;
  options.mount.min_data_versions = 3;
  options.mount.max_data_versions = 1;
  options.mount.min_data_ttl = milliseconds(0);
  options.mount.max_data_ttl = milliseconds(0);
  expect_ok(db_->run(db_->create_table("/versions", users_schema(), options)));
  const auto table = db_->table("/versions");
  for (const char* name : {"1", "2", "3", "4"}) insert(*table, {{"id", 1}, {"name", name}});
  expect_ok(db_->run(db_->flush_table("/versions")));
  expect_ok(db_->run(db_->compact_table("/versions")));
  const Value one(1);
  const auto kept = table->lookup_versions(Key(&one, 1), kMaxTimestamp);
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_EQ(kept->write_timestamps.size(), 3u);
  options.mount.min_data_ttl = std::chrono::hours(24);
  expect_ok(db_->run(db_->remount_table("/versions", options.mount)));
}

// As in YTsaurus: any timestamp up to the greatest may be read.
TEST_F(Refusals, ATimestampInTheFutureSeesWhatIsCommittedNow) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  const Table table = users();
  insert(table, {{"id", 1}, {"name", "now"}});
  ReadOptions future;
  future.timestamp = kMaxTimestamp;
  EXPECT_EQ(name_of(table, 1, future), "now");
  insert(table, {{"id", 1}, {"name", "later"}});
  EXPECT_EQ(name_of(table, 1, future), "later");
  future.timestamp = kMaxTimestamp + 2;
  expect_has(name_of(table, 1, future), "Invalid read timestamp");
}

}  // namespace
}  // namespace moraine
