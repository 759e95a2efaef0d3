#include "sim/tables/dependency_graph.h"

#include <gtest/gtest.h>

namespace moraine::sim {
namespace {

using History = std::vector<CommittedTransaction>;

// Two transactions read x and y unchanged, each writes one of them.
History write_skew(bool locked) {
  return {{1, locked, {{10, 0}, {20, 0}}, {{10, 1}}}, {2, locked, {{10, 0}, {20, 0}}, {{20, 1}}}};
}

TEST(DependencyGraph, WriteSkewIsASnapshotHistoryAndNotSerializable) {
  EXPECT_EQ(find_snapshot_cycle(write_skew(true)), std::nullopt);
  EXPECT_TRUE(find_locked_cycle(write_skew(true)));
  EXPECT_EQ(find_locked_cycle(write_skew(false)), std::nullopt);
}

TEST(DependencyGraph, ALostUpdateIsNoSnapshotHistory) {
  const History history = {{1, false, {{10, 0}}, {{10, 1}}}, {2, false, {{10, 0}}, {{10, 2}}}};
  const auto cycle = find_snapshot_cycle(history);
  ASSERT_TRUE(cycle);
  EXPECT_NE(cycle->find("ww"), std::string::npos) << *cycle;
  EXPECT_NE(cycle->find("rw"), std::string::npos) << *cycle;
}

TEST(DependencyGraph, AReadThatSeesHalfOfATransactionIsNoSnapshotHistory) {
  const History history = {{1, false, {}, {{10, 1}, {20, 1}}}, {2, false, {{10, 1}, {20, 0}}, {}}};
  EXPECT_TRUE(find_snapshot_cycle(history));
}

TEST(DependencyGraph, ReadsThatDisagreeOnTheOrderOfWritesAreNoSnapshotHistory) {
  const History history = {{1, false, {}, {{10, 1}}},
                           {2, false, {}, {{20, 1}}},
                           {3, false, {{10, 1}, {20, 0}}, {}},
                           {4, false, {{10, 0}, {20, 1}}, {}}};
  EXPECT_TRUE(find_snapshot_cycle(history));
}

TEST(DependencyGraph, TransactionsOneAfterTheOtherHaveNoCycle) {
  History history;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    history.push_back({i, true, {{10, i - 1}, {20, i - 1}}, {{10, i}, {20, i}}});
  }
  EXPECT_EQ(find_snapshot_cycle(history), std::nullopt);
  EXPECT_EQ(find_locked_cycle(history), std::nullopt);
}

TEST(DependencyGraph, WritersWithoutLocksBetweenLockedOnesArePassedOver) {
  const History history = {
      {1, true, {{10, 0}}, {{20, 1}}}, {2, false, {}, {{10, 1}}}, {3, true, {{20, 0}}, {{10, 2}}}};
  EXPECT_TRUE(find_locked_cycle(history));
}

}  // namespace
}  // namespace moraine::sim
