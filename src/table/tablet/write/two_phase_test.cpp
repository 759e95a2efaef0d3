#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class TwoPhaseTest : public testing::Test {
 protected:
  static constexpr TabletId kCoordinator{500};

  TwoPhaseTest() : table_(11) { table_.boot(); }

  Result<void> prepare(const TabletWrite& write) {
    return table_.world.run(table_.tablet->prepare(write, kCoordinator));
  }
  Result<void> commit(const TransactionId& id, Timestamp timestamp) {
    return table_.world.run(table_.tablet->commit_prepared(id, timestamp));
  }
  Result<void> abort(const TransactionId& id) {
    return table_.world.run(table_.tablet->abort_prepared(id));
  }
  TabletWrite write(int key, std::string_view text) {
    return table_.transaction({table_.rows.put({{"k", key}, {"v", text}})});
  }
  std::string get(int key, Timestamp timestamp = kAsyncLastCommitted) {
    return table_.get({{"k", key}}, timestamp);
  }

  static Task<void> commit_later(TableTablet& tablet, TransactionId id, Timestamp at) {
    const auto committed = co_await tablet.commit_prepared(id, at);
    EXPECT_TRUE(committed);
  }
  static Task<Result<TransactionOutcome>> tell(TransactionOutcome outcome) { co_return outcome; }

  TestTable table_;
};

TEST_F(TwoPhaseTest, WhatIsPreparedIsSeenOnceItIsCommitted) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  EXPECT_EQ(get(1), "-");
  const Timestamp at = table_.timestamps.draw();
  ASSERT_TRUE(commit(one.transaction, at));
  EXPECT_EQ(get(1), "k=1 v=one");
  EXPECT_EQ(get(1, at), "k=1 v=one");
  EXPECT_EQ(get(1, at - 1), "-");
}

TEST_F(TwoPhaseTest, WhatIsAbortedLeavesNothing) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  ASSERT_TRUE(abort(one.transaction));
  EXPECT_EQ(table_.get({{"k", 1}}), "-");
  EXPECT_TRUE(table_.write({table_.rows.put({{"k", 1}, {"v", "two"}})}, one.start));
}

TEST_F(TwoPhaseTest, ACommitIsAnsweredAgainHoweverOldItIs) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  // The clock has jumped between start and commit.
  const Timestamp at = one.start + timestamp_of_seconds(1'000);
  ASSERT_TRUE(commit(one.transaction, at));
  EXPECT_TRUE(commit(one.transaction, at));
  table_.timestamps.raise_to(at + timestamp_of_seconds(1'000));
  table_.put({{"k", 2}, {"v", "two"}});
  table_.world.run_for(2s);
  EXPECT_TRUE(commit(one.transaction, at));
  table_.restart();
  EXPECT_TRUE(commit(one.transaction, at));
  EXPECT_EQ(get(1), "k=1 v=one");
}

TEST_F(TwoPhaseTest, ASupersededIncarnationCannotConfirmItsLead) {
  EXPECT_TRUE(table_.world.run(table_.tablet->confirm_lead()));
  auto newer = table_.try_boot();
  ASSERT_TRUE(newer);
  EXPECT_FALSE(table_.world.run(table_.tablet->confirm_lead()));
  EXPECT_TRUE(table_.world.run((*newer)->confirm_lead()));
  // A hook that is set after the end is called at once.
  bool called = false;
  table_.tablet->on_end([&] { called = true; });
  EXPECT_TRUE(called);
  table_.stop();
  table_.tablet = std::move(*newer);
}

TEST_F(TwoPhaseTest, EachStepMayBeRepeated) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  ASSERT_TRUE(prepare(one));
  const Timestamp at = table_.timestamps.draw();
  ASSERT_TRUE(commit(one.transaction, at));
  ASSERT_TRUE(commit(one.transaction, at));
  ASSERT_TRUE(prepare(one));
  EXPECT_FALSE(abort(one.transaction));
  table_.crash();
  ASSERT_TRUE(commit(one.transaction, at));
  table_.restart();
  ASSERT_TRUE(commit(one.transaction, at));
  EXPECT_EQ(get(1), "k=1 v=one");

  const TabletWrite two = write(2, "two");
  ASSERT_TRUE(prepare(two));
  ASSERT_TRUE(abort(two.transaction));
  ASSERT_TRUE(abort(two.transaction));
  table_.restart();
  ASSERT_TRUE(abort(two.transaction));
  const auto late = prepare(two);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kAborted);
}

TEST_F(TwoPhaseTest, APrepareThatComesAfterItsAbortIsRefused) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(abort(one.transaction));
  EXPECT_FALSE(prepare(one));
}

TEST_F(TwoPhaseTest, APreparedTransactionHoldsItsRowsOverRestarts) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  for (int life = 0; life < 4; ++life) {
    const auto other = table_.write({table_.rows.put({{"k", 1}, {"v", "other"}})});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::kAborted);
    table_.put({{"k", 100 + life}, {"v", "x"}});
    if (life % 2 == 0) {
      table_.crash();
    } else {
      table_.restart();
    }
  }
  ASSERT_TRUE(commit(one.transaction, table_.timestamps.draw()));
  EXPECT_EQ(get(1), "k=1 v=one");
  table_.crash();
  EXPECT_EQ(get(1), "k=1 v=one");
}

TEST_F(TwoPhaseTest, SyncReadersWaitForPreparedRowsAndAsyncOnesDoNot) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  EXPECT_EQ(get(1, kAsyncLastCommitted), "-");
  EXPECT_NE(get(1, kSyncLastCommitted).find("error"), std::string::npos);
  EXPECT_EQ(get(1, one.start - 1), "-");
  table_.crash();
  EXPECT_NE(get(1, kSyncLastCommitted).find("error"), std::string::npos);
  ASSERT_TRUE(commit(one.transaction, table_.timestamps.draw()));
  EXPECT_EQ(get(1, kSyncLastCommitted), "k=1 v=one");
}

TEST_F(TwoPhaseTest, AWaitingReaderContinuesWhenTheRowIsDecided) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  const TransactionId id = one.transaction;
  const Timestamp at = table_.timestamps.draw();
  table_.storage.world().executor.schedule(
      table_.storage.world().executor.now() + 3s,
      [this, id, at] { spawn(commit_later(*table_.tablet, id, at)); });
  EXPECT_EQ(get(1, kSyncLastCommitted), "k=1 v=one");
}

TEST_F(TwoPhaseTest, RowsOfAPreparedTransactionAreFlushedWhenItIsDecided) {
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  MountConfig mount;
  mount.max_dynamic_store_row_count = 5;
  ASSERT_TRUE(table_.tablet->remount(mount));
  for (int i = 10; i < 30; ++i) table_.put({{"k", i}, {"v", "x"}});
  table_.world.run_for(5s);
  ASSERT_TRUE(commit(one.transaction, table_.timestamps.draw()));
  table_.flush();
  EXPECT_EQ(get(1), "k=1 v=one");
  EXPECT_EQ(table_.all().size(), 21u);
  table_.crash();
  EXPECT_EQ(table_.all().size(), 21u);
}

TEST_F(TwoPhaseTest, ACoordinatorIsAskedAboutUndecidedTransactions) {
  int asked = 0;
  TransactionOutcome outcome;
  table_.options.ask_coordinator = [&](TabletId coordinator,
                                       TransactionId) -> Task<Result<TransactionOutcome>> {
    EXPECT_EQ(coordinator, kCoordinator);
    ++asked;
    return tell(outcome);
  };
  table_.restart();
  ASSERT_TRUE(prepare(write(1, "one")));
  ASSERT_TRUE(prepare(write(2, "two")));
  table_.world.run_for(8s);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(get(1), "-");
  outcome = {TransactionOutcome::Kind::kCommitted, table_.timestamps.draw()};
  table_.crash();
  table_.world.run_for(8s);
  EXPECT_EQ(get(1), "k=1 v=one");
  EXPECT_EQ(get(2), "k=2 v=two");
}

TEST_F(TwoPhaseTest, AnOldTransactionIsNotPrepared) {
  const TabletWrite old = write(1, "one");
  table_.world.run_for(kTransactionAgeMax + 10s);
  table_.put({{"k", 2}, {"v", "now"}});
  const auto late = prepare(old);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kAborted);
}

TEST_F(TwoPhaseTest, ChangesThatWereEncodedWithAnotherSchemaAreRefused) {
  TableSchema other = test_schema();
  std::swap(other.columns[other.columns.size() - 2], other.columns.back());
  TabletWrite altered = write(1, "one");
  altered.schema = std::make_shared<const TableSchema>(other);
  const auto prepared = prepare(altered);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::kAborted);
  const auto committed = table_.world.run(table_.tablet->commit(altered));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Errc::kAborted);
  altered.schema = std::make_shared<const TableSchema>(test_schema());
  EXPECT_TRUE(prepare(altered));
  EXPECT_TRUE(abort(altered.transaction));
}

TEST_F(TwoPhaseTest, WhatWasNeverPreparedCannotBeCommitted) {
  const auto committed = commit(table_.new_id(), table_.timestamps.draw());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Errc::kNotFound);
  const TabletWrite one = write(1, "one");
  ASSERT_TRUE(prepare(one));
  EXPECT_FALSE(commit(one.transaction, one.start));
  ASSERT_TRUE(abort(one.transaction));
}

}  // namespace
}  // namespace moraine::table
