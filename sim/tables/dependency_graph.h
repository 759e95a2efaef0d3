// Cycles in the history of transactions (Adya; Cerone and Gotsman).
//
// Transactions depend on each other by rows: a write follows an older write (ww), a read follows
// the write that it saw (wr), a write follows the reads that did not see it (rw).
//
// Promise    Pure. Under snapshot isolation every cycle has two adjacent rw edges; under
//            serializability there is no cycle at all. A cycle is reported with its transactions,
//            rows and kinds.
// Tests      dependency_graph_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moraine::sim {

struct RowAccess {
  std::uint64_t row = 0;
  std::size_t version =
      0;  // Versions of a row count from 1 in the order of their commits; 0: none.
};

struct CommittedTransaction {
  std::uint64_t name = 0;
  bool locks_reads = false;  // Must be serializable with others that do.
  std::vector<RowAccess> reads;
  std::vector<RowAccess> writes;
};

// nullopt: no cycle.
std::optional<std::string> find_snapshot_cycle(const std::vector<CommittedTransaction>& history);
// Among transactions that lock what they read.
std::optional<std::string> find_locked_cycle(const std::vector<CommittedTransaction>& history);

}  // namespace moraine::sim
