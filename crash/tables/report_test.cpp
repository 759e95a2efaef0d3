#include "crash/tables/report.h"

#include <gtest/gtest.h>

namespace moraine::crash {
namespace {

TEST(TablesReport, ATransactionIsReadAsItWasWritten) {
  TransactionReport written{7, 1234, {}};
  written.changes = {{{0, 1, 2}, RowChangeKind::kPut, 3},
                     {{1, -1, 2'000'000'000'007}, RowChangeKind::kDelete, 0},
                     {{2, 3, 4}, RowChangeKind::kDelta, -55}};
  const std::string line = to_line(written);
  EXPECT_EQ(line, "pending 7 1234 0:1:2:p:3 1:-1:2000000000007:d:0 2:3:4:n:-55");
  const auto report = parse_report(line);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->kind, Report::Kind::kPending);
  EXPECT_EQ(report->transaction, written);
}

TEST(TablesReport, TheLongestTransactionFitsALine) {
  TransactionReport written{~std::uint64_t{0}, kMaxTimestamp, {}};
  for (std::size_t i = 0; i < kReportChangesMax; ++i) {
    written.changes.push_back(
        {{2, -100, -4'000'000'000'000'000'000}, RowChangeKind::kDelta, -9'000'000'000'000'000'000});
  }
  EXPECT_LT(to_line(written).size(), kReportBytesMax);
}

TEST(TablesReport, AnswersAreRead) {
  EXPECT_EQ(parse_report("ready")->kind, Report::Kind::kReady);
  const auto committed = parse_report("committed 5 99");
  EXPECT_EQ(committed->kind, Report::Kind::kCommitted);
  EXPECT_EQ(committed->transaction.id, 5u);
  EXPECT_EQ(committed->commit, 99u);
  EXPECT_EQ(parse_report("aborted 6")->transaction.id, 6u);
  EXPECT_EQ(parse_report("unknown 6 no answer came")->text, "no answer came");
  EXPECT_EQ(parse_report("violation a b")->text, "a b");
}

TEST(TablesReport, OtherLinesAreRefused) {
  for (const char* line : {"", "read", "ready 1", "pending", "pending 1", "pending 1 2 3",
                           "pending 1 2 0:1:2:x:0", "committed 1", "committed x 1"}) {
    EXPECT_FALSE(parse_report(line)) << line;
  }
}

}  // namespace
}  // namespace moraine::crash
