#include "blob/device/log_order.h"

#include <gtest/gtest.h>

namespace moraine::blob {
namespace {

BatchHeader batch(std::uint64_t sequence, std::uint64_t durable, std::uint32_t run = 1,
                  std::uint64_t run_first = 1, std::uint64_t previous_last = 0) {
  BatchHeader header;
  header.sequence = sequence;
  header.durable = durable;
  header.run = run;
  header.run_first = run_first;
  header.previous_last = previous_last;
  return header;
}

bool all_whole(std::size_t) {
  return true;
}

std::vector<std::uint64_t> replayed(const std::vector<BatchHeader>& headers, const LogPlan& plan) {
  std::vector<std::uint64_t> sequences;
  for (const std::size_t i : plan.replay) sequences.push_back(headers[i].sequence);
  return sequences;
}

using Sequences = std::vector<std::uint64_t>;

TEST(LogOrder, TakesBatchesBySequenceWhateverOrderTheyWereFoundIn) {
  const std::vector<BatchHeader> headers{batch(3, 1), batch(1, 0), batch(2, 1)};
  const LogPlan plan = order_log(headers, 1, 1, all_whole);
  EXPECT_EQ(replayed(headers, plan), (Sequences{1, 2, 3}));
  EXPECT_EQ(plan.last, 3u);
  EXPECT_TRUE(plan.lost.empty());
}

TEST(LogOrder, EndsAtTheFirstBatchThatIsMissingAndWasNotAcknowledged) {
  const std::vector<BatchHeader> headers{batch(1, 0), batch(3, 1), batch(4, 1)};
  const LogPlan plan = order_log(headers, 1, 1, all_whole);
  EXPECT_EQ(replayed(headers, plan), (Sequences{1}));
  EXPECT_EQ(plan.last, 1u);
  EXPECT_TRUE(plan.lost.empty());
}

TEST(LogOrder, EndsAtTheFirstTornBatch) {
  const std::vector<BatchHeader> headers{batch(1, 0), batch(2, 0), batch(3, 1)};
  const LogPlan plan = order_log(headers, 1, 1, [](std::size_t i) { return i != 1; });
  EXPECT_EQ(replayed(headers, plan), (Sequences{1}));
}

TEST(LogOrder, ReportsAMissingBatchThatALaterOneSaysWasDurable) {
  const std::vector<BatchHeader> headers{batch(1, 0), batch(3, 2), batch(4, 3)};
  const LogPlan plan = order_log(headers, 1, 1, all_whole);
  EXPECT_EQ(replayed(headers, plan), (Sequences{1, 3, 4}));
  EXPECT_EQ(plan.lost, (Sequences{2}));
}

TEST(LogOrder, LeavesTheTailOutForEverOnceALaterRunDid) {
  // Run 1 ended at 2 when run 2 opened; 4 is what a crash left behind.
  const std::vector<BatchHeader> headers{batch(1, 0), batch(2, 1), batch(4, 1),
                                         batch(5, 2, 2, 5, 2), batch(6, 5, 2, 5, 2)};
  const LogPlan plan = order_log(headers, 1, 1, all_whole);
  EXPECT_EQ(replayed(headers, plan), (Sequences{1, 2, 5, 6}));
  EXPECT_TRUE(plan.lost.empty());
}

TEST(LogOrder, ReportsWhatALaterRunHadAndCannotBeReadAnyMore) {
  const std::vector<BatchHeader> headers{batch(1, 0), batch(5, 2, 2, 5, 2)};
  const LogPlan plan = order_log(headers, 1, 1, all_whole);
  EXPECT_EQ(plan.lost, (Sequences{2}));
  EXPECT_EQ(replayed(headers, plan), (Sequences{1, 5}));
}

TEST(LogOrder, ReportsTheCheckpointsOwnRunWhenNothingOfItIsLeft) {
  const std::vector<BatchHeader> headers{batch(9, 7, 3, 9, 7)};
  const LogPlan plan = order_log(headers, 6, 2, all_whole);
  EXPECT_EQ(plan.lost, (Sequences{6, 7}));
}

TEST(LogOrder, PassesOverWhatIsBeforeTheCheckpoint) {
  const std::vector<BatchHeader> headers{batch(1, 0), batch(2, 1), batch(3, 2)};
  const LogPlan plan = order_log(headers, 3, 1, all_whole);
  EXPECT_EQ(replayed(headers, plan), (Sequences{3}));
  EXPECT_EQ(order_log({}, 3, 1, all_whole).last, 2u);
}

}  // namespace
}  // namespace moraine::blob
