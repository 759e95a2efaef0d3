// TablesVerifier: compares the tables after a kill with the truth.
//
// Promise    verify() settles what was undecided, then detects: acknowledged transactions that are
//            missing (lost), transactions that are applied in part (half-applied), rows that were
//            never written or should be deleted (wrong), in scans and lookups of the present and of
//            the past.
// Threading  One thread, not the database's.
// Limits     At most kReportsMax reports per check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/tables/served_tables.h"

namespace moraine::crash {

struct TablesVerifyCounts {
  std::uint64_t rows = 0;       // Compared.
  std::uint64_t snapshots = 0;  // Of the past.
  std::uint64_t lost = 0;
  std::uint64_t half_applied = 0;
  std::uint64_t wrong = 0;
  bool clean() const { return lost == 0 && half_applied == 0 && wrong == 0; }
};

class TablesVerifier {
 public:
  TablesVerifier(TablesTruth& truth, Random& random) : truth_(truth), random_(random) {}

  // An error: the tables cannot be read.
  Result<void> verify(Database& database);
  const TablesVerifyCounts& counts() const { return counts_; }
  // Reports since the last call.
  std::vector<std::string> take_reports() { return std::exchange(reports_, {}); }

 private:
  // When its markers were written; nullopt: none found.
  Result<std::optional<Timestamp>> find_markers(const TransactionReport& transaction, bool& partly);
  Result<void> settle_undecided();
  Result<void> check_acknowledged();
  Result<void> check_refused();
  Result<void> check_scan(std::uint32_t table, Timestamp timestamp);
  Result<void> check_lookups(std::uint32_t table, Timestamp timestamp);
  void compare(const RowName& row, const std::optional<RowState>& expected,
               const std::optional<RowState>& found, Timestamp timestamp);
  void report(std::string what);

  TablesTruth& truth_;
  Random& random_;
  std::vector<Table> tables_;
  TablesVerifyCounts counts_;
  std::vector<std::string> reports_;
};

}  // namespace moraine::crash
