#include "crash/tables/tables_verify.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace moraine::crash {
namespace {

const RowName kFirst{0, 1, 5};
const RowName kSecond{1, 4, 7};

class TablesVerifierTest : public testing::Test {
 protected:
  TablesVerifierTest() : random_(1), verifier_(truth_, random_) {
    std::string pattern = (std::filesystem::temp_directory_path() / "moraine-tv-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    OpenOptions options;
    options.device_bytes = std::uint64_t{256} << 20;
    auto opened = Database::open(folder_ + "/data", options);
    EXPECT_TRUE(opened) << opened.error().message();
    db_.emplace(std::move(*opened));
    const auto up = bring_up(*db_);
    EXPECT_TRUE(up) << up.error().message();
  }
  ~TablesVerifierTest() override {
    db_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Puts both rows, with their markers.
  TransactionReport two_rows() {
    TransactionReport report;
    report.id = next_id_++;
    report.start = db_->timestamp().value_or(0);
    for (const RowName& row : {kFirst, kSecond}) {
      report.changes.push_back({row, RowChangeKind::kPut, 0});
      report.changes.push_back({marker_of(row, report.id), RowChangeKind::kPut, 0});
    }
    return report;
  }
  Result<Timestamp> try_write(const TransactionReport& report) {
    TRY(Transaction transaction, db_->begin());
    for (const RowChangeReport& change : report.changes) {
      TRY(const Table table, db_->table(path_of(change.row.table)));
      TRY_VOID(add_change(transaction, table, report.id, change));
    }
    return transaction.commit();
  }
  // Retries while a tablet does not know yet that the transaction before it has ended.
  Timestamp write(const TransactionReport& report) {
    Result<Timestamp> committed = try_write(report);
    while (!committed && committed.error().code == Errc::kAborted) committed = try_write(report);
    EXPECT_TRUE(committed) << committed.error().message();
    return committed.value_or(0);
  }
  // Written, reported and acknowledged.
  void write_reported() {
    const TransactionReport report = two_rows();
    truth_.begin(report);
    truth_.committed(report.id, write(report));
  }
  const TablesVerifyCounts& verify() {
    const auto done = verifier_.verify(*db_);
    EXPECT_TRUE(done) << done.error().message();
    return verifier_.counts();
  }

  std::string folder_;
  std::optional<Database> db_;
  TablesTruth truth_;
  SeededRandom random_;
  TablesVerifier verifier_;
  std::uint64_t next_id_ = 1;
};

TEST_F(TablesVerifierTest, WhatWasAcknowledgedIsThere) {
  write_reported();
  write_reported();
  EXPECT_TRUE(verify().clean());
  EXPECT_GT(verifier_.counts().rows, 4u);
  EXPECT_TRUE(truth_.violations().empty());
}

TEST_F(TablesVerifierTest, AnAcknowledgedTransactionThatIsNotThereIsLost) {
  write_reported();
  const TransactionReport never = two_rows();
  truth_.begin(never);
  truth_.committed(never.id, never.start + 1);
  EXPECT_GE(verify().lost, 1u);
  EXPECT_FALSE(verifier_.take_reports().empty());
}

TEST_F(TablesVerifierTest, APendingTransactionIsWholeOrNotThere) {
  const TransactionReport there = two_rows();
  truth_.begin(there);
  write(there);
  truth_.begin(two_rows());
  EXPECT_TRUE(verify().clean());
  EXPECT_EQ(truth_.counts().found, 1u);
  EXPECT_EQ(truth_.counts().absent, 1u);
}

TEST_F(TablesVerifierTest, AHalfOfATransactionIsSeen) {
  const TransactionReport whole = two_rows();
  truth_.begin(whole);
  TransactionReport half = whole;
  half.changes.resize(2);
  write(half);
  EXPECT_EQ(verify().half_applied, 1u);
}

TEST_F(TablesVerifierTest, ARowThatWasNotReportedIsWrong) {
  write_reported();
  write(two_rows());
  EXPECT_GE(verify().wrong, 1u);
}

TEST_F(TablesVerifierTest, ADeletedRowThatReappearsIsWrong) {
  TransactionReport report = two_rows();
  truth_.begin(report);
  truth_.committed(report.id, write(report));
  TransactionReport deletes = two_rows();
  deletes.changes[0].kind = RowChangeKind::kDelete;
  truth_.begin(deletes);
  TransactionReport without = deletes;
  without.changes.erase(without.changes.begin());
  truth_.committed(deletes.id, write(without));
  EXPECT_GE(verify().wrong, 1u);
}

}  // namespace
}  // namespace moraine::crash
