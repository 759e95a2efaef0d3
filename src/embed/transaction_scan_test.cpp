// Scans of a transaction: each step is a use of the transaction, and they end with it unless it
// commits.

#include <thread>

#include "base/result.h"
#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr std::int64_t kTablets = 6;

// One row in each tablet, so that every step of a scan returns one row.
class TransactionScan : public DatabaseTest {
 protected:
  TransactionScan() {
    std::vector<std::vector<Value>> pivots;
    for (std::int64_t id = 1; id < kTablets; ++id) pivots.push_back({Value(id)});
    expect_ok(db_->run(db_->create_table("/users", users_schema(), {}, pivots)));
    auto tx = db_->begin();
    for (std::int64_t id = 0; id < kTablets; ++id) {
      expect_ok(tx->insert(users(), {{"id", id}, {"name", "old"}}));
    }
    EXPECT_TRUE(tx->commit());
  }
  Transaction begin(std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    TransactionOptions options;
    options.timeout = timeout;
    auto tx = db_->begin(options);
    EXPECT_TRUE(tx) << tx.error().message();
    return std::move(*tx);
  }
  // A scan after its first row.
  static Scan begun(const Transaction& tx, const Table& table) {
    auto scan = tx.scan(table, {});
    EXPECT_TRUE(scan) << scan.error().message();
    EXPECT_EQ(step(*scan), "old");
    return std::move(*scan);
  }
  // The name of the row that the next step returns, "end", or the error.
  static std::string step(Scan& scan) {
    ScanBatch batch;
    const auto more = scan.next(batch);
    if (!more) return more.error().message();
    return *more ? std::string(batch.columns[1].at(0).text()) : "end";
  }
  static Task<Result<bool>> step_async(Scan& scan, ScanBatch& batch) {
    co_return co_await scan.next_async(batch);
  }
  std::string step_awaited(Scan& scan) {
    ScanBatch batch;
    const auto more = db_->run<Result<bool>>([&] { return step_async(scan, batch); });
    return more ? "goes on" : more.error().message();
  }
  static std::string look_up(const Transaction& tx, const Table& table) {
    const Value one(1);
    const Key key(&one, 1);
    Rowset rows;
    const auto found = tx.lookup(table, std::span(&key, 1), {}, rows);
    return found ? "found" : found.error().message();
  }
};

TEST_F(TransactionScan, ItsStepsAreUsesOfTheTransaction) {
  constexpr std::chrono::milliseconds kTimeout{400};
  constexpr std::chrono::milliseconds kPause{120};
  using Clock = std::chrono::steady_clock;
  const Table table = users();
  // A busy machine may pause for longer than the timeout: then retry.
  for (bool in_time = false; !in_time;) {
    Transaction tx = begin(kTimeout);
    auto scan = tx.scan(table, {});
    if (!scan) continue;
    in_time = true;
    Clock::time_point last = Clock::now();
    std::string error;
    for (std::int64_t id = 0; id < kTablets && in_time; ++id) {
      std::this_thread::sleep_for(kPause);
      error = step(*scan);
      in_time = Clock::now() - last < kTimeout;
      last = Clock::now();
    }
    const auto written = tx.insert(table, {{"id", 1}, {"name", "new"}});
    in_time = in_time && Clock::now() - last < kTimeout;
    if (!in_time) continue;
    EXPECT_EQ(error, "old");
    EXPECT_TRUE(written) << "after " << kTablets << " pauses: " << written.error().message();
  }
}

TEST_F(TransactionScan, AfterItHasExpiredItsScansFailWithTheErrorOfItsReads) {
  const Table table = users();
  std::optional<Transaction> tx;
  std::optional<Scan> begun;
  // A busy machine may be slower than the timeout: then retry.
  while (!begun || step(*begun) != "old") {
    begun.reset();
    tx.emplace(begin(std::chrono::milliseconds(300)));
    if (auto scan = tx->scan(table, {})) begun.emplace(std::move(*scan));
  }
  Scan scan = std::move(*begun);
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  const std::string error = step(scan);
  EXPECT_NE(error.find("was not used for 300 ms and has expired"), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("aborted: ")) << error;
  EXPECT_EQ(step(scan), error);
  EXPECT_EQ(step_awaited(scan), error);
  EXPECT_EQ(look_up(*tx, table), error);
}

TEST_F(TransactionScan, AfterAnAbortItsScansFailWithTheErrorOfItsReads) {
  const Table table = users();
  Transaction tx = begin();
  Scan scan = begun(tx, table);
  tx.abort();
  const std::string error = step(scan);
  EXPECT_NE(error.find(tx.id() + " is over"), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("aborted: ")) << error;
  EXPECT_EQ(step_awaited(scan), error);
  EXPECT_EQ(look_up(tx, table), error);
}

TEST_F(TransactionScan, ATransactionDestroyedWithoutACommitIsAborted) {
  std::optional<Transaction> tx(begin());
  Scan scan = begun(*tx, users());
  tx.reset();
  EXPECT_NE(step(scan).find("is over"), std::string::npos);
}

TEST_F(TransactionScan, AfterACommitItContinuesAtTheTimestampOfTheStart) {
  const Table table = users();
  std::optional<Transaction> tx(begin());
  Scan scan = begun(*tx, table);
  for (std::int64_t id = 0; id < kTablets; ++id) {
    expect_ok(tx->insert(table, {{"id", id}, {"name", "new"}}));
  }
  ASSERT_TRUE(tx->commit());
  EXPECT_EQ(step(scan), "old");
  EXPECT_EQ(step_awaited(scan), "goes on");
  tx->abort();
  tx.reset();
  for (std::int64_t id = 3; id < kTablets; ++id) EXPECT_EQ(step(scan), "old");
  EXPECT_EQ(step(scan), "end");
}

TEST_F(TransactionScan, AfterACommitThatFailedItFailsWithKAborted) {
  const Table table = users();
  Transaction tx = begin();
  Scan scan = begun(tx, table);
  insert(table, {{"id", 1}, {"name", "first"}});
  expect_ok(tx.insert(table, {{"id", 1}, {"name", "second"}}));
  const auto lost = tx.commit();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kAborted);
  EXPECT_NE(step(scan).find("is over"), std::string::npos);
}

TEST_F(TransactionScan, ReadsOfASnapshotThatWasCompactedAwayFailWithKAborted) {
  TableMountOptions keep_nothing;
  keep_nothing.min_data_ttl = keep_nothing.max_data_ttl = std::chrono::milliseconds(0);
  expect_ok(db_->run(db_->remount_table("/users", keep_nothing)));
  const Table table = users();
  const Transaction tx = begin();
  auto scan = tx.scan(table, {});
  ASSERT_TRUE(scan);
  for (std::int64_t id = 0; id < 2; ++id) insert(table, {{"id", id}, {"name", "new"}});
  expect_ok(db_->run(db_->flush_table("/users")));
  expect_ok(db_->run(db_->compact_table("/users")));
  for (const std::string& error : {look_up(tx, table), step(*scan), step_awaited(*scan)}) {
    EXPECT_TRUE(error.starts_with("aborted: ")) << error;
    EXPECT_NE(error.find("compacted away"), std::string::npos) << error;
  }
  ReadOptions then;
  then.timestamp = tx.start();
  EXPECT_TRUE(name_of(table, 1, then).starts_with("invalid argument: "));
}

TEST_F(TransactionScan, TextsOfFiltersMayGoBeforeTheScan) {
  const Table table = users();
  insert(table, {{"id", 5}, {"name", "a name that is longer than any small string"}});
  ScanOptions options;
  {
    std::string text = "a name that is longer than any small string";
    options.filters = {{"name", Filter::Op::kEqual, Value(text)}};
    options.from = {Value(1)};
    auto scan = table.scan(options);
    ASSERT_TRUE(scan);
    text.assign(text.size(), 'x');
    EXPECT_EQ(step(*scan), "a name that is longer than any small string");
    EXPECT_EQ(step(*scan), "end");
  }
}

}  // namespace
}  // namespace moraine
