// Idle scans: they expire, and what they held is released.

#include <thread>

#include "base/result.h"
#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr std::chrono::milliseconds kShort{50};
// An upper bound for any wait on a busy machine.
constexpr std::chrono::minutes kPatience{2};

class IdleScans : public DatabaseTest {
 protected:
  IdleScans() {
    TableOptions options;
    options.mount.min_data_ttl = options.mount.max_data_ttl = std::chrono::milliseconds(0);
    expect_ok(db_->run(db_->create_table("/users", users_schema(), options)));
    write("first");
  }
  void write(std::string_view name) {
    auto tx = db_->begin();
    for (std::int64_t id = 0; id < 1'000; ++id) {
      expect_ok(tx->insert(users(), {{"id", id}, {"name", name}}));
    }
    EXPECT_TRUE(tx->commit());
  }
  Scan begun(ScanBatch& batch, std::chrono::milliseconds timeout) {
    ScanOptions options;
    options.timeout = timeout;
    options.row_limit = 900;
    auto scan = users().scan(options);
    EXPECT_TRUE(scan) << scan.error().message();
    const auto more = scan->next(batch);
    EXPECT_TRUE(more && *more);
    return std::move(*scan);
  }
  // Summed over all tables.
  std::uint64_t metric(const std::string& name) {
    const std::string text = "\n" + db_->run(db_->metrics());
    std::uint64_t sum = 0;
    for (std::size_t at = text.find("\n" + name); at != std::string::npos;
         at = text.find("\n" + name, at + 1)) {
      const char after = text[at + 1 + name.size()];
      if (after != '{' && after != ' ') continue;
      const std::size_t end = text.find('\n', at + 1);
      sum += std::stoull(text.substr(text.rfind(' ', end) + 1));
    }
    return sum;
  }
  void wait_for_none(const std::string& name) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (metric(name) != 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << name << " is " << metric(name);
      expect_ok(db_->run(db_->settle_table("/users")));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
};

TEST_F(IdleScans, AnIdleScanReleasesTheChunksThatItReads) {
  expect_ok(db_->run(db_->flush_table("/users")));
  ScanBatch batch;
  Scan scan = begun(batch, kShort);
  write("second");
  expect_ok(db_->run(db_->flush_table("/users")));
  expect_ok(db_->run(db_->compact_table("/users")));
  wait_for_none("moraine_scans_open");
  wait_for_none("moraine_table_replaced_chunks");
  EXPECT_EQ(metric("moraine_table_replaced_bytes"), 0u);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    ASSERT_EQ(batch.columns[1].at(row).text(), "first") << "the last batch stays";
  }
  const auto late = scan.next(batch);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kAborted);
  EXPECT_EQ(late.error().context,
            "the scan was not used for 50 ms and has expired; begin a new one");
}

TEST_F(IdleScans, WhatAScanKeepsIsInTheMetrics) {
  expect_ok(db_->run(db_->flush_table("/users")));
  ScanBatch batch;
  {
    const Scan scan = begun(batch, kScanTimeoutMax);
    write("second");
    expect_ok(db_->run(db_->flush_table("/users")));
    expect_ok(db_->run(db_->compact_table("/users")));
    EXPECT_EQ(metric("moraine_scans_open"), 1u);
    EXPECT_GT(metric("moraine_table_replaced_chunks"), 0u);
    EXPECT_GT(metric("moraine_table_replaced_bytes"), 0u);
  }
  EXPECT_EQ(metric("moraine_scans_open"), 0u);
  wait_for_none("moraine_table_replaced_chunks");
}

TEST_F(IdleScans, RowsInMemoryStayAsLongAsTheirTextsMayBeRead) {
  ScanBatch batch;
  {
    Scan scan = begun(batch, kShort);
    wait_for_none("moraine_scans_open");
    write("second");
    expect_ok(db_->run(db_->flush_table("/users")));
    EXPECT_GT(metric("moraine_table_replaced_memory_bytes"), 0u);
    for (std::size_t row = 0; row < batch.rows; ++row) {
      ASSERT_EQ(batch.columns[1].at(row).text(), "first");
    }
    EXPECT_FALSE(scan.next(batch));
  }
  wait_for_none("moraine_table_replaced_memory_bytes");
}

TEST_F(IdleScans, AScanInUseDoesNotExpire) {
  ScanOptions options;
  options.timeout = std::chrono::seconds(20);
  auto scan = users().scan(options);
  ASSERT_TRUE(scan);
  ScanBatch batch;
  std::size_t rows = 0;
  for (;;) {
    const auto more = scan->next(batch);
    ASSERT_TRUE(more) << more.error().message();
    if (!*more) break;
    rows += batch.rows;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // Several sweeps run meanwhile.
  }
  EXPECT_EQ(rows, 1'000u);
  EXPECT_EQ(metric("moraine_scans_open"), 0u) << "it has ended, and holds nothing";
  const auto again = scan->next(batch);
  EXPECT_TRUE(again && !*again);
}

TEST_F(IdleScans, AScanOfATransactionExpiresThoughTheTransactionIsUsed) {
  TransactionOptions options;
  options.timeout = std::chrono::seconds(4);
  auto tx = db_->begin(options);
  ASSERT_TRUE(tx);
  ScanOptions scanned;
  scanned.row_limit = 500;
  auto scan = tx->scan(users(), scanned);
  ASSERT_TRUE(scan);
  ScanBatch batch;
  const auto first = scan->next(batch);
  ASSERT_TRUE(first) << first.error().message();
  const Value one(1);
  const Key key(&one, 1);
  Rowset rows;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (metric("moraine_scans_open") != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    (void)tx->lookup(users(), std::span(&key, 1), {}, rows);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const auto late = scan->next(batch);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kAborted);
}

TEST_F(IdleScans, TimeoutsHaveBounds) {
  for (const std::chrono::milliseconds timeout :
       {std::chrono::milliseconds(0), kScanTimeoutMax + kShort}) {
    ScanOptions options;
    options.timeout = timeout;
    const auto refused = users().scan(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  }
}

}  // namespace
}  // namespace moraine
