// FinishedTransactions: the outcomes of recent two-phase transactions of a tablet.
//
// Promise    Pure. An outcome is known until its commit (for an abort: the transaction's start) is
//            older than kTransactionAgeMax relative to the newest commit, or kFinishedMax others
//            have ended since. A transaction whose commit was requested at or below horizon() may
//            have been committed and forgotten: it must not be prepared. One requested later was
//            not, however long ago it began. Forgotten aborts need no horizon: if an aborted
//            transaction is prepared again, its coordinator has no record of it and aborts it.
// Tests      table_state_test.cpp.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "table/tablet/transaction_id.h"

namespace moraine::table {

inline constexpr std::size_t kFinishedMax = 200'000;

struct FinishedTransaction {
  TransactionId id;
  Timestamp start = 0;
  Timestamp commit = 0;  // 0: aborted.
};

class FinishedTransactions {
 public:
  explicit FinishedTransactions(std::size_t most = kFinishedMax) : most_(most) {}

  void add(const FinishedTransaction& transaction) {
    if (!outcomes_.emplace(transaction.id.bytes, transaction.commit).second) return;
    order_.push_back(transaction);
    if (order_.size() > most_) drop_oldest();
  }
  // Commit timestamp; 0: aborted.
  std::optional<Timestamp> outcome(const TransactionId& id) const {
    const auto found = outcomes_.find(id.bytes);
    if (found == outcomes_.end()) return std::nullopt;
    return found->second;
  }
  // Drops outcomes that are too old relative to the newest commit.
  void forget(Timestamp newest_commit) {
    while (!order_.empty()) {
      const FinishedTransaction& oldest = order_.front();
      if (!too_old(std::max(oldest.start, oldest.commit), newest_commit)) break;
      drop_oldest();
    }
  }
  static bool too_old(Timestamp start, Timestamp newest_commit) {
    return unix_seconds(start) + static_cast<std::uint64_t>(kTransactionAgeMax.count()) <
           unix_seconds(newest_commit);
  }

  Timestamp horizon() const { return horizon_; }
  void set_horizon(Timestamp horizon) { horizon_ = std::max(horizon_, horizon); }
  const std::deque<FinishedTransaction>& all() const { return order_; }

 private:
  void drop_oldest() {
    set_horizon(order_.front().commit);
    outcomes_.erase(order_.front().id.bytes);
    order_.pop_front();
  }

  std::size_t most_;
  absl::flat_hash_map<std::array<std::uint8_t, 16>, Timestamp> outcomes_;
  std::deque<FinishedTransaction> order_;  // Oldest first.
  Timestamp horizon_ = 0;
};

}  // namespace moraine::table
