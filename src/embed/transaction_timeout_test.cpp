// Transactions that are idle for longer than their timeout.

#include <thread>

#include "base/result.h"
#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr std::chrono::milliseconds kTimeout{20};

class TransactionTimeout : public DatabaseTest {
 protected:
  TransactionTimeout() { expect_ok(db_->run(db_->create_table("/users", users_schema()))); }

  // A transaction that wrote row 1 and locked row 2 in time, and then was idle for too long.
  Transaction expired(const Table& table) {
    TransactionOptions options;
    options.timeout = kTimeout;
    const Value two(2);
    for (;;) {
      auto tx = db_->begin(options);
      EXPECT_TRUE(tx) << tx.error().message();
      // A busy machine may be slower than the timeout: then retry.
      if (!tx->insert(table, {{"id", 1}, {"name", "late"}})) continue;
      if (!tx->lock(table, Key(&two, 1), RowLock::kExclusive)) continue;
      std::this_thread::sleep_for(2 * kTimeout);
      return std::move(*tx);
    }
  }
  template <class T>
  static void expect_expired(const Result<T>& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kAborted);
    EXPECT_NE(result.error().context.find("was not used for 20 ms and has expired"),
              std::string::npos)
        << result.error().message();
  }
  static Result<void> look_up(const Transaction& tx, const Table& table) {
    const Value one(1);
    const Key key(&one, 1);
    Rowset rows;
    return tx.lookup(table, std::span(&key, 1), {}, rows);
  }
  Task<Result<void>> look_up_async(const Transaction& tx, Table table) {
    const std::vector<Value> key = {Value(1)};
    const std::vector<std::vector<Value>> keys = {key};
    Rowset rows;
    co_return co_await tx.lookup_async(table, keys, {}, rows);
  }
};

TEST_F(TransactionTimeout, AnExpiredTransactionCannotWrite) {
  const Table table = users();
  Transaction inserting = expired(table);
  expect_expired(inserting.insert(table, {{"id", 3}, {"name", "x"}}));
  Transaction removing = expired(table);
  expect_expired(removing.remove(table, {3}));
  Transaction locking = expired(table);
  const Value three(3);
  expect_expired(locking.lock(table, Key(&three, 1), RowLock::kSharedWeak));
}

TEST_F(TransactionTimeout, AnExpiredTransactionCannotRead) {
  const Table table = users();
  expect_expired(look_up(expired(table), table));
  expect_expired(expired(table).scan(table, {}));
  const Transaction awaited = expired(table);
  expect_expired(db_->run<Result<void>>([&] { return look_up_async(awaited, table); }));
}

TEST_F(TransactionTimeout, AnExpiredTransactionCannotCommitAndNothingOfItIsKept) {
  {
    const Table table = users();
    expect_expired(expired(table).commit());
    EXPECT_EQ(name_of(table, 1), "-");
    Transaction awaited = expired(table);
    expect_expired(db_->run<Result<Timestamp>>([&] { return awaited.commit_async(); }));
    EXPECT_EQ(name_of(table, 1), "-");
  }
  reopen();
  EXPECT_EQ(name_of(users(), 1), "-");
}

TEST_F(TransactionTimeout, AnExpiredTransactionStaysExpiredAndSaysSoEveryTime) {
  const Table table = users();
  Transaction tx = expired(table);
  expect_expired(look_up(tx, table));
  expect_expired(tx.insert(table, {{"id", 1}, {"name", "again"}}));
  expect_expired(tx.commit());
  expect_expired(tx.commit());
  EXPECT_EQ(name_of(table, 1), "-");
}

TEST_F(TransactionTimeout, OtherTransactionsAreNotHinderedByOneThatHasExpired) {
  const Table table = users();
  auto before = db_->begin();
  ASSERT_TRUE(before);
  Transaction tx = expired(table);
  expect_ok(before->insert(table, {{"id", 1}, {"name", "before"}}));
  expect_ok(before->insert(table, {{"id", 2}, {"name", "before"}}));
  const auto committed = before->commit();
  EXPECT_TRUE(committed) << committed.error().message();
  insert(table, {{"id", 1}, {"name", "after"}});
  insert(table, {{"id", 2}, {"name", "after"}});
  expect_expired(tx.commit());
  EXPECT_EQ(name_of(table, 1), "after");
  EXPECT_EQ(name_of(table, 2), "after");
}

TEST_F(TransactionTimeout, ATransactionThatWasCommittedInTimeIsOverAndNotExpired) {
  const Table table = users();
  auto tx = db_->begin();
  ASSERT_TRUE(tx);
  expect_ok(tx->insert(table, {{"id", 1}, {"name", "kept"}}));
  ASSERT_TRUE(tx->commit());
  const auto again = tx->commit();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kAborted);
  EXPECT_NE(again.error().context.find("is over"), std::string::npos) << again.error().message();
  EXPECT_EQ(name_of(table, 1), "kept");
}

}  // namespace
}  // namespace moraine
