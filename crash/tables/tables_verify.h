// TablesVerifier: what is in the tables after a kill, held against the truth.
//
// Promise    verify() settles what was undecided, then looks for: acknowledged transactions that
//            are not there (lost), transactions of which a part is there (half-applied), rows that
//            nobody wrote or that should be gone (wrong), in scans and lookups of the present and
//            of the past.
// Threading  One thread, not the database's.
// Limits     kReportsMax of each look are told.
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
  // Since they were last taken.
  std::vector<std::string> take_reports() { return std::exchange(reports_, {}); }

 private:
  // When its markers were written; nullopt: not there.
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
