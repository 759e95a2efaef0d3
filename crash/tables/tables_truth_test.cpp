#include "crash/tables/tables_truth.h"

#include <gtest/gtest.h>

namespace moraine::crash {
namespace {

const RowName kRow{0, 1, 2};

TransactionReport one(std::uint64_t id, Timestamp start, RowChangeKind kind,
                      std::int64_t argument = 0) {
  return {id, start, {{kRow, kind, argument}}};
}

TEST(TablesTruth, ARowIsWhatTheSettledTransactionsMadeOfIt) {
  TablesTruth truth;
  truth.begin(one(1, 10, RowChangeKind::kPut, 2));
  EXPECT_FALSE(truth.at(kRow, 100)) << "undecided";
  truth.committed(1, 12);
  truth.begin(one(2, 20, RowChangeKind::kDelta, 5));
  truth.committed(2, 22);
  EXPECT_FALSE(truth.at(kRow, 11));
  EXPECT_EQ(truth.at(kRow, 12), (RowState{1, 2, std::nullopt}));
  EXPECT_EQ(truth.at(kRow, 22), (RowState{1, 2, 5}));
  truth.begin(one(3, 30, RowChangeKind::kDelete));
  truth.committed(3, 32);
  EXPECT_FALSE(truth.at(kRow, 32));
  truth.begin(one(4, 40, RowChangeKind::kDelta, 7));
  truth.committed(4, 42);
  EXPECT_EQ(truth.at(kRow, 50), (RowState{std::nullopt, 0, 7})) << "a delete resets the sum";
  EXPECT_EQ(truth.all_at(0, 50).size(), 1u);
  EXPECT_TRUE(truth.all_at(0, 35).empty());
  EXPECT_TRUE(truth.all_at(1, 50).empty());
  EXPECT_EQ(truth.counts().acknowledged, 4u);
  EXPECT_TRUE(truth.violations().empty());
}

TEST(TablesTruth, AnUndecidedTransactionIsWhatTheTablesSay) {
  TablesTruth truth;
  truth.begin(one(1, 10, RowChangeKind::kPut));
  truth.begin(one(2, 11, RowChangeKind::kPut));
  truth.begin(one(3, 12, RowChangeKind::kPut));
  truth.unknown(1);
  truth.settle(1, std::nullopt);
  truth.settle(2, 15);
  EXPECT_EQ(truth.at(kRow, 20)->writer, 2u);
  EXPECT_EQ(truth.undecided().size(), 1u);
  EXPECT_EQ(truth.counts().found, 1u);
  EXPECT_EQ(truth.counts().absent, 1u);
  truth.aborted(3);
  EXPECT_EQ(truth.refused().size(), 1u);
  EXPECT_EQ(truth.at(kRow, 20)->writer, 2u);
}

TEST(TablesTruth, CommitsReportedOutOfOrderCountByTheirTimestamps) {
  TablesTruth truth;
  truth.begin(one(1, 10, RowChangeKind::kPut));
  truth.begin(one(2, 11, RowChangeKind::kPut));
  truth.committed(2, 20);
  truth.committed(1, 15);
  EXPECT_EQ(truth.at(kRow, 30)->writer, 2u);
}

TEST(TablesTruth, ATimestampThatGoesBackIsAViolation) {
  TablesTruth truth;
  truth.begin(one(1, 10, RowChangeKind::kPut));
  truth.committed(1, 20);
  truth.begin(one(2, 15, RowChangeKind::kPut));
  EXPECT_TRUE(truth.violations().empty()) << "both were begun before the commit";
  truth.forget_round();
  truth.begin(one(3, 20, RowChangeKind::kPut));
  EXPECT_EQ(truth.violations().size(), 1u);
  truth.begin(one(4, 21, RowChangeKind::kPut));
  truth.committed(4, 21);
  EXPECT_EQ(truth.violations().size(), 2u);
}

}  // namespace
}  // namespace moraine::crash
