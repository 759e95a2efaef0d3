// Rows of memory stores are written once: snapshots leave them in the log.

#include <gtest/gtest.h>

#include "table/tablet/state/table_state.h"
#include "table/tablet/state/test_state.h"

namespace moraine::table {
namespace {

constexpr TabletId kOwn{91};
constexpr TabletId kCoordinator{500};

class KeptRowsTest : public testing::Test {
 protected:
  KeptRowsTest() : state_(kOwn, schema_) { rows_.schema = schema_; }
  static TransactionId id_of(std::uint8_t number) {
    TransactionId id;
    id.bytes[3] = number;
    return id;
  }
  std::vector<RowChange> row(int key, std::string_view text) {
    return {rows_.put({{"k", key}, {"v", text}})};
  }
  // One entry of the log with one body.
  void entry(const LogRecord& record) {
    log_.emplace_back(GenStep{2, ++step_}, encode(record));
    state_.replaying(log_.back().first);
    const auto replayed = state_.replay(log_.back().second);
    ASSERT_TRUE(replayed) << replayed.error().message();
  }
  // Boots from the newest snapshot.
  std::unique_ptr<TableState> boot() {
    auto copy = std::make_unique<TableState>(kOwn, schema_);
    EXPECT_TRUE(copy->restore(state_.snapshot()));
    const GenStep since = state_.needed_since();
    for (const auto& [at, body] : log_) {
      if (since == GenStep{} || at < since) continue;
      copy->replaying(at);
      EXPECT_TRUE(copy->replay_kept(body));
    }
    return copy;
  }

  std::shared_ptr<const TableSchema> schema_ = std::make_shared<const TableSchema>(test_schema());
  TestRows rows_;
  TableState state_;
  Step step_ = 0;
  std::vector<std::pair<GenStep, Slice>> log_;
};

TEST_F(KeptRowsTest, TheLogIsNeededFromTheFirstRowOfTheOldestStore) {
  EXPECT_EQ(state_.needed_since(), GenStep{});
  entry(RowsRecord{1, 100, id_of(1), {rows_.lock({{"k", 1}}, "", LockMode::kExclusive)}});
  EXPECT_EQ(state_.needed_since(), GenStep{});
  entry(RowsRecord{1, 101, id_of(2), row(1, "a")});
  entry(RowsRecord{2, 102, id_of(3), row(2, "b")});
  entry(RowsRecord{1, 103, id_of(4), row(3, "c")});
  EXPECT_EQ(state_.needed_since(), (GenStep{2, 2}));
  ReplaceRecord flush;
  flush.flushed = {1};
  entry(flush);
  EXPECT_EQ(state_.needed_since(), (GenStep{2, 3}));
  const auto copy = boot();
  EXPECT_EQ(copy->last_commit(), 103u);
  EXPECT_EQ(copy->needed_since(), (GenStep{2, 3}));
  EXPECT_EQ(rows_in(*copy, 2), 1u);
  EXPECT_EQ(rows_in(*boot(), 1), 0u);
}

TEST_F(KeptRowsTest, AnAbortedTransactionDoesNotKeepTheLogOverARestart) {
  PrepareRecord prepare;
  prepare.store = 1;
  prepare.transaction = id_of(1);
  prepare.coordinator = kCoordinator;
  prepare.start = 100;
  prepare.changes = row(1, "a");
  entry(prepare);
  EXPECT_EQ(state_.needed_since(), (GenStep{2, 1}));
  EXPECT_EQ(rows_in(*boot(), 1), 0u);
  AbortRecord abort;
  abort.transaction = id_of(1);
  entry(abort);
  EXPECT_EQ(rows_in(state_, 1), 0u);
  EXPECT_EQ(state_.needed_since(), GenStep{}) << "a later schema need not read it";
}

TEST_F(KeptRowsTest, SnapshotsDoNotGrowWithTheRows) {
  for (int i = 0; i < 200; ++i) {
    entry(RowsRecord{1, 100 + static_cast<Timestamp>(i), id_of(1), row(i, std::string(500, 'x'))});
  }
  std::size_t bytes = 0;
  for (const Slice& page : state_.snapshot()) bytes += page.size();
  EXPECT_LT(bytes, 200u);
  EXPECT_EQ(rows_in(*boot(), 1), 200u);
}

TEST_F(KeptRowsTest, RowsOfACommittedTransactionComeFromItsPrepare) {
  entry(PrepareRecord{1, id_of(9), 400, kCoordinator, row(1000, "p")});
  entry(PrepareRecord{1, id_of(8), 410, kCoordinator, row(1001, "p")});
  entry(CommitRecord{id_of(9), 600});
  entry(AbortRecord{id_of(8)});
  EXPECT_EQ(state_.needed_since(), (GenStep{2, 1}));
  const auto copy = boot();
  EXPECT_TRUE(copy->prepared().empty());
  EXPECT_EQ(rows_in(*copy, 1), 1u);
}

TEST_F(KeptRowsTest, ATransactionThatASnapshotBringsIsRepeatedOnceItIsCommitted) {
  entry(PrepareRecord{1, id_of(9), 400, kCoordinator, row(1000, "p")});
  const auto copy = boot();
  ASSERT_EQ(copy->prepared().size(), 1u);
  copy->replaying({3, 1});
  ASSERT_TRUE(copy->replay(encode(CommitRecord{id_of(9), 600})));
  // Its prepare may no longer be in the log.
  EXPECT_EQ(copy->needed_since(), GenStep{});
  TableState third(kOwn, schema_);
  ASSERT_TRUE(third.restore(copy->snapshot()));
  EXPECT_EQ(rows_in(third, 1), 1u);
}

TEST_F(KeptRowsTest, RowsThatOnlyAnOldSnapshotHasAreRepeatedUntilTheyAreFlushed) {
  TableState old(kOwn, schema_);
  ASSERT_TRUE(old.replay(encode(RowsRecord{1, 100, id_of(1), row(1, "a")})));
  ASSERT_TRUE(state_.restore(old.snapshot()));
  entry(RowsRecord{1, 101, id_of(2), row(2, "b")});
  entry(RowsRecord{2, 102, id_of(3), row(3, "c")});
  EXPECT_EQ(state_.needed_since(), (GenStep{2, 2}));
  EXPECT_EQ(rows_in(*boot(), 1), 2u);
  EXPECT_EQ(rows_in(*boot(), 2), 1u);
  ReplaceRecord flush;
  flush.flushed = {1};
  entry(flush);
  EXPECT_EQ(rows_in(*boot(), 1), 0u);
  EXPECT_EQ(rows_in(*boot(), 2), 1u);
}

TEST(KeptRows, AreThereAfterEveryRestartAndAfterTheirFlush) {
  TestTable table(5);
  std::vector<std::string> expected;
  for (int life = 0; life < 8; ++life) {
    table.boot();
    EXPECT_EQ(table.all(), expected) << life;
    for (int i = 0; i < 10; ++i) {
      const int key = life * 10 + i;
      table.put({{"k", key}, {"v", std::string_view("x")}});
      expected.push_back(fmt::format("k={} v=x", key));
    }
    if (life % 3 == 2) table.flush();
    table.world.run_for(5s);
    table.stop();
  }
  table.boot();
  EXPECT_EQ(table.all(), expected);
}

}  // namespace
}  // namespace moraine::table
