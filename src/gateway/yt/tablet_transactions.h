// TabletTransactions: transactions of rows that clients have open over HTTP, those of one lane.
// Their ids say which lane has them.
//
// Promise    A transaction that was not used for its timeout is aborted, at the latest when
//            another one begins or is used on this lane after that.
// Threading  Its lane.
// Errors     Code::kNoTransaction: unknown, over or expired.
// Limits     Those of client::OpenCounts; kTabletTransactionTimeoutMax. Changes of open
//            transactions count among what all requests hold (Door).
// Tests      rows_test.cpp.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "client/table_client.h"
#include "gateway/http/answer_budget.h"
#include "gateway/yt/error.h"
#include "io/world.h"
#include "scheme/object_id.h"

namespace moraine::yt {

inline constexpr std::chrono::hours kTabletTransactionTimeoutMax = kTransactionTimeoutMax;

// An id of a transaction of rows on this lane.
PathId new_tablet_transaction_id(Random& random, std::size_t lane);
// nullopt: the id is not of such a transaction.
std::optional<std::size_t> lane_of_transaction(const PathId& id);
std::unexpected<YtError> no_sticky_transaction(const PathId& id);

class TabletTransactions {
 public:
  TabletTransactions(World world, std::size_t lane, http::AnswerBudget& budget)
      : world_(world), lane_(lane), budget_(budget) {}
  TabletTransactions(const TabletTransactions&) = delete;
  TabletTransactions& operator=(const TabletTransactions&) = delete;

  PathId add(client::Transaction transaction, std::chrono::milliseconds timeout);
  // The transaction, for calls that do not wait; its timeout begins again.
  YtResult<client::Transaction*> use(const PathId& id);
  // After changes were added. Error kQueueLimit: there is no memory for more.
  YtResult<void> count_changes(const PathId& id);
  // It is not here any more.
  YtResult<std::unique_ptr<client::Transaction>> take(const PathId& id);
  std::size_t size() const { return open_.size(); }

 private:
  struct Open {
    std::unique_ptr<client::Transaction> transaction;
    Duration timeout;
    Instant expires;
    std::unique_ptr<http::AnswerRoom> room;  // Of its changes.
  };

  void sweep();

  const World world_;
  const std::size_t lane_;
  http::AnswerBudget& budget_;
  Instant next_sweep_{};
  std::map<PathId, Open> open_;
};

}  // namespace moraine::yt
