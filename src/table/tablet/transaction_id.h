// Transaction ids and writes, as tablets use them.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "table/model/change.h"
#include "tablet/tablet_info.h"

namespace moraine::table {

struct TransactionId {
  std::array<std::uint8_t, 16> bytes{};  // Random.
  auto operator<=>(const TransactionId&) const = default;
};
std::string to_string(const TransactionId& id);

// No transaction lives longer. Tablets remember finished ones for this long.
inline constexpr std::chrono::seconds kTransactionAgeMax{300};
inline constexpr std::size_t kRowsPerTransactionMax = 100'000;  // In one tablet.

// The changes of one transaction to one tablet.
struct TabletWrite {
  TransactionId transaction;
  Timestamp start = 0;
  std::vector<RowChange> changes;  // By ascending key, each key once.
  // Drawn when its commit was first requested, and the same whenever the request is repeated.
  // Whatever was decided earlier cannot be this transaction. 0: not drawn; its start is used
  // instead.
  Timestamp requested = 0;
  // That the changes were encoded with: a tablet with another one refuses them, as columns and
  // locks are numbers. Null: not known, as in messages of other nodes.
  std::shared_ptr<const TableSchema> schema = nullptr;
  // Its fingerprint (schema_codec.h), in messages of other nodes. 0: not known.
  std::uint64_t schema_fingerprint = 0;

  Timestamp commit_requested() const { return requested != 0 ? requested : start; }
  // Rows for an ordered table: writes to sorted ones have locks, unless atomicity is none.
  bool appends() const { return !changes.empty() && changes.front().locks == LockSet(); }
};

}  // namespace moraine::table
