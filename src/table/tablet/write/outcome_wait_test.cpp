// Writes that conflict with the locks of prepared transactions.
#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class OutcomeWaitTest : public testing::Test {
 protected:
  static constexpr TabletId kCoordinator{500};

  OutcomeWaitTest() : table_(12) {
    table_.options.ask_after = 1000s;  // Only blocked writes ask.
    table_.options.ask_coordinator = [this](TabletId, TransactionId) { return answer(); };
    table_.boot();
  }
  Task<Result<TransactionOutcome>> answer() {
    ++asked_;
    co_return outcome_;
  }
  Result<void> prepare(const TabletWrite& write) {
    return table_.world.run(table_.tablet->prepare(write, kCoordinator));
  }
  TabletWrite write(int key, std::string_view text) {
    return table_.transaction({table_.rows.put({{"k", key}, {"v", text}})});
  }
  Result<Timestamp> commit(const TabletWrite& write) {
    return table_.world.run(table_.tablet->commit(write));
  }
  Task<void> freeze() { EXPECT_TRUE(co_await table_.tablet->freeze()); }
  void decide(TransactionOutcome::Kind kind, Timestamp at = 0) {
    outcome_ = TransactionOutcome{kind, at};
  }

  TestTable table_;
  Result<TransactionOutcome> outcome_ = TransactionOutcome{};
  int asked_ = 0;
};

TEST_F(OutcomeWaitTest, AWriteContinuesAboveADecidedTransactionUnknownToTheTablet) {
  const TabletWrite first = write(1, "one");
  ASSERT_TRUE(prepare(first));
  decide(TransactionOutcome::Kind::kCommitted, table_.timestamps.draw());
  const auto second = commit(write(1, "two"));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=two");
  EXPECT_EQ(table_.get({{"k", 1}}, *second - 1), "k=1 v=one");
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(table_.tablet->statistics().conflicts, 0u);
}

TEST_F(OutcomeWaitTest, APrepareContinuesToo) {
  const TabletWrite first = write(1, "one");
  ASSERT_TRUE(prepare(first));
  decide(TransactionOutcome::Kind::kAborted);
  ASSERT_TRUE(prepare(write(1, "two")));
  EXPECT_EQ(asked_, 1);
}

TEST_F(OutcomeWaitTest, AWriteThatBeganBeforeItWasCommittedConflicts) {
  const TabletWrite first = write(1, "one");
  const TabletWrite second = write(1, "two");
  ASSERT_TRUE(prepare(first));
  decide(TransactionOutcome::Kind::kCommitted, table_.timestamps.draw());
  const auto lost = commit(second);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kAborted);
  EXPECT_EQ(table_.get({{"k", 1}}), "k=1 v=one");
  EXPECT_EQ(table_.tablet->statistics().conflicts, 1u);
}

TEST_F(OutcomeWaitTest, WritesDoNotWaitForUndecidedTransactions) {
  const TabletWrite older = write(2, "older");
  ASSERT_TRUE(prepare(write(1, "one")));
  ASSERT_TRUE(prepare(write(2, "two")));
  const Instant before = table_.world.executor().now();
  const auto lost = commit(write(1, "three"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kAborted);
  EXPECT_EQ(prepare(write(1, "four")).error().code, Errc::kAborted);
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(commit(older).error().code, Errc::kAborted) << "it conflicts whatever the outcome is";
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(table_.world.executor().now(), before);
}

TEST_F(OutcomeWaitTest, ACoordinatorThatCannotBeReachedIsRetriedForAWhile) {
  ASSERT_TRUE(prepare(write(1, "one")));
  outcome_ = fail(Errc::kUnavailable, "it is restarting");
  const Timestamp at = table_.timestamps.draw();
  table_.world.executor().schedule(table_.world.executor().now() + 1s, [this, at] {
    decide(TransactionOutcome::Kind::kCommitted, at);
  });
  EXPECT_TRUE(commit(write(1, "two")));
  ASSERT_TRUE(prepare(write(1, "three")));
  outcome_ = fail(Errc::kUnavailable, "it has stopped");
  EXPECT_EQ(commit(write(1, "four")).error().code, Errc::kAborted);
}

TEST_F(OutcomeWaitTest, EveryTransactionThatSharesALockIsAskedAbout) {
  TabletWrite first = write(1, "one");
  TabletWrite second = write(1, "two");
  for (TabletWrite* one : {&first, &second}) {
    one->changes[0].kind = ChangeKind::kLock;
    one->changes[0].image.clear();
    one->changes[0].locks = {};
    one->changes[0].locks.add(0, LockMode::kSharedStrong);
    ASSERT_TRUE(prepare(*one));
  }
  decide(TransactionOutcome::Kind::kCommitted, table_.timestamps.draw());
  const auto third = commit(write(1, "three"));
  EXPECT_TRUE(third) << third.error().message();
  EXPECT_EQ(asked_, 2);
}

TEST_F(OutcomeWaitTest, AFrozenTabletRefusesWritesThatHaveWaited) {
  const TabletWrite first = write(1, "one");
  ASSERT_TRUE(prepare(first));
  outcome_ = fail(Errc::kUnavailable, "it is restarting");
  Executor& node = table_.storage.world().executor;
  node.schedule(node.now() + 1s, [this] { spawn(freeze()); });
  EXPECT_EQ(commit(write(1, "two")).error().code, Errc::kReadOnly);
  ASSERT_TRUE(table_.world.run(table_.tablet->abort_prepared(first.transaction)));
  table_.world.run_for(5s);  // The freeze finishes.
}

}  // namespace
}  // namespace moraine::table
