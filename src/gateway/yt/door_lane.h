// DoorLane: what the handlers of one lane share: the node's tables and tree, open transactions.
//
// Threading  Its lane; world() and index() on any thread.
// Limits     kTablesCachedMax tables that are kept open; one read of the tree at a time.
// Tests      door_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/table_client.h"
#include "client/tree.h"
#include "gateway/http/answer_budget.h"
#include "gateway/yt/request_head.h"
#include "gateway/yt/tablet_transactions.h"
#include "io/sync.h"

namespace moraine::yt {

inline constexpr std::size_t kTablesCachedMax = 1'024;
// Commands on the rows of a table are an access to its node so often, which renews its
// expiration_timeout.
inline constexpr int kAccessPauseMs = 200;

using TablePtr = std::shared_ptr<const client::Table>;

// The parts of a node that the API is served from. All outlive the door.
struct DoorServices {
  client::TableClient& tables;
  client::Tree* tree = nullptr;  // Null: commands on the tree are not supported.
};

class Call;

class DoorLane {
 public:
  DoorLane(World world, std::size_t index, DoorServices services, http::AnswerBudget& inputs,
           const std::vector<std::unique_ptr<DoorLane>>& all)
      : world_(world),
        index_(index),
        services_(services),
        inputs_(inputs),
        all_(all),
        transactions_(world, index, inputs),
        tree_reads_(world.executor, 1) {}
  DoorLane(const DoorLane&) = delete;
  DoorLane& operator=(const DoorLane&) = delete;

  const World& world() const { return world_; }
  std::size_t index() const { return index_; }
  client::TableClient& tables() { return services_.tables; }
  client::Tree* tree() { return services_.tree; }
  // Memory of inputs of all lanes.
  http::AnswerBudget& inputs() { return inputs_; }
  RequestHeads& heads() { return heads_; }
  TabletTransactions& transactions() { return transactions_; }
  // One permit: answers of the tree may be long, and are not counted before they are there.
  Semaphore& tree_reads() { return tree_reads_; }
  // The lane that has a transaction of rows. Its members are used there only (run_there).
  YtResult<DoorLane*> lane_of(const PathId& transaction) const;

  // The table of a path of the tree.
  Task<YtResult<TablePtr>> open_table(const Call& call, std::string path);
  Task<Result<TablePtr>> open_table(client::TreeScope scope, std::string path);
  // The table at a path of the scheme.
  Result<TablePtr> open(const std::string& path);

 private:
  struct Cached {
    TablePtr table;
    Instant accessed;  // When the tree knew of it last.
  };

  // A table as it was opened last, while its schema is the same. Null: open it anew.
  TablePtr cached(const std::string& path);
  bool is_access_due(const std::string& path) const;

  const World world_;
  const std::size_t index_;
  const DoorServices services_;
  http::AnswerBudget& inputs_;
  const std::vector<std::unique_ptr<DoorLane>>& all_;
  TabletTransactions transactions_;
  Semaphore tree_reads_;
  RequestHeads heads_;
  std::map<std::string, Cached, std::less<>> cache_;  // By path in the scheme.
};

// A command's table, by the tree.
Task<YtResult<client::TreeNode>> table_node(const Call& call, std::string path, bool writes);
// Its path of the scheme.
Task<YtResult<std::string>> table_path(const Call& call, std::string path, bool writes);
// The scope in which a command finds its tables: transactions of rows are none of the tree.
YtResult<client::TreeScope> table_scope(const Call& call);

}  // namespace moraine::yt
