// StoredTree: the tree of nodes with attributes, stored in the scheme.
//
//   client::Tree  ->  tree_commands.h  ->  TreeEditor  ->  Scheme::edit()  ->  the running tables
//
// Promise    As client::Tree. Transactions whose lease or deadline is over are aborted; after a
//            restart of the scheme's tablet each gets a whole lease. Nodes that expired are removed
//            within about kExpiryPause, never early, also after a restart; those that a transaction
//            has locked, when it is over. Results of successful changes with a mutation id are kept
//            for kMutationKeptMs, at most kMutationsMax of them; failed ones run again.
// Threading  Calls: any lane. The rest: the control lane.
// Limits     Those of tree_editor.h and tree_answers.h; kAccessTimesMax.
// Tests      stored_tree_test.cpp, tree_transactions_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/tree.h"
#include "io/event.h"
#include "io/run_on.h"
#include "node/scheme_host.h"
#include "node/stored_tables.h"
#include "node/stored_topics.h"
#include "node/tree_answers.h"
#include "node/tree_commands.h"
#include "node/tree_metrics.h"

namespace moraine {

inline constexpr std::size_t kAccessTimesMax = 100'000;
inline constexpr std::size_t kExpiredAtOnce = 1'000;  // Nodes that one change removes.
inline constexpr Duration kExpiryPause = 100ms;       // Between two changes, and after the last.
inline constexpr Duration kExpiryRetry = 1s;          // Of a node that cannot be removed now.
inline constexpr Duration kTreeTimeoutMax = 1h;

class StoredTree final : public client::Tree {
 public:
  // All outlive the object; `scheme` has not started.
  StoredTree(World world, SchemeHost& scheme, StoredTables& tables, StoredTopics& topics);

  // Call before the scheme's.
  Task<void> stop();
  void abandon() { scope_.close(); }

  Task<Result<YsonNode>> get(client::TreeScope scope, std::string path,
                             client::TreeGet options) override;
  Task<Result<YsonNode>> list(client::TreeScope scope, std::string path,
                              client::TreeGet options) override;
  Task<Result<bool>> exists(client::TreeScope scope, std::string path) override;
  Task<Result<void>> set(client::TreeScope scope, std::string path, YsonNode value,
                         client::TreeSet options) override;
  Task<Result<void>> set_attributes(client::TreeScope scope, std::string path, YsonMap values,
                                    client::TreeSet options) override;
  Task<Result<void>> remove(client::TreeScope scope, std::string path,
                            client::TreeRemove options) override;
  Task<Result<PathId>> create(client::TreeScope scope, client::TreeCreate options) override;
  Task<Result<PathId>> copy(client::TreeScope scope, std::string source, std::string destination,
                            client::TreeCopy options) override;
  Task<Result<PathId>> link(client::TreeScope scope, std::string target, std::string path,
                            client::TreeLink options) override;
  Task<Result<PathId>> begin(client::TreeScope scope,
                             client::TreeTransactionOptions options) override;
  Task<Result<void>> ping(client::TreeScope scope, PathId transaction) override;
  Task<Result<void>> commit(client::TreeScope scope, PathId transaction) override;
  Task<Result<void>> abort(client::TreeScope scope, PathId transaction, bool force) override;
  Task<Result<client::TreeLocked>> lock(client::TreeScope scope, std::string path,
                                        client::TreeLock options) override;
  Task<Result<void>> unlock(client::TreeScope scope, std::string path) override;
  Task<Result<client::TreeNode>> resolve(client::TreeScope scope, std::string path,
                                         bool writes) override;
  Task<Result<std::optional<YsonNode>>> begin_mutation(client::MutationId mutation) override;
  Task<Result<void>> end_mutation(client::MutationId mutation, YsonNode result) override;

  // Control lane.
  TreeFigures figures() const;

 private:
  using SchemePtr = std::shared_ptr<Scheme>;
  using Change = std::function<Result<YsonNode>(TreeEditor&)>;
  struct Lease {
    Instant pinged;
    std::uint64_t pinged_ms = 0;  // Since 1970.
  };
  // Of a node, since 1970; 0: not known.
  struct Access {
    std::uint64_t read_ms = 0;     // Its access_time.
    std::uint64_t renewed_ms = 0;  // From when its expiration_timeout runs.
  };

  template <class Body>
  std::invoke_result_t<Body> there(Body body) {
    return run_there(world_.executor, std::move(body));
  }
  // What a snapshot of the node at the path says of its rows (TreeSnapshot::rows_before).
  Task<std::uint64_t> rows_before(client::TreeScope scope, std::string path);
  // The running scheme, with the scope's transactions open.
  Task<Result<SchemePtr>> open(const client::TreeScope& scope);
  // The result of an earlier change with the scope's mutation id: its transactions may have ended
  // since. nullopt: there was none.
  Task<Result<std::optional<YsonNode>>> repeated(const client::TreeScope& scope);
  // Runs a change in the scope, once per mutation id.
  Task<Result<YsonNode>> change(client::TreeScope scope, Change body);
  Task<Result<PathId>> change_id(client::TreeScope scope, Change body);
  Task<Result<void>> change_only(client::TreeScope scope,
                                 std::function<Result<void>(TreeEditor&)> body);

  Task<Result<YsonNode>> get_here(client::TreeScope scope, std::string path,
                                  client::TreeGet options);
  Task<Result<YsonNode>> list_here(client::TreeScope scope, std::string path,
                                   client::TreeGet options);
  Task<Result<bool>> exists_here(client::TreeScope scope, std::string path);
  Task<Result<PathId>> create_here(client::TreeScope scope, client::TreeCreate options);
  Task<Result<PathId>> copy_here(client::TreeScope scope, std::string source,
                                 std::string destination, client::TreeCopy options);
  Task<Result<YsonNode>> get_attribute(SchemePtr scheme, client::TreeScope scope, AttributePath at,
                                       client::TreeGet options);
  // The value of one attribute; nullopt: the node has none.
  Task<Result<std::optional<YsonNode>>> attribute_value(SchemePtr scheme, client::TreeScope scope,
                                                        NodePtr node, std::string name);
  Task<Result<void>> fill_attributes(SchemePtr scheme, client::TreeScope scope, AnswerNodes& nodes,
                                     std::size_t from, const client::WantedAttributes& wanted);
  // What is below //sys and not stored, or an object that is no node. nullopt: the path leads
  // elsewhere.
  std::optional<Result<YsonNode>> system_answer(const Scheme& scheme,
                                                const client::TreeScope& scope,
                                                const TreePath& path) const;
  // A path to an attribute that a table keeps itself. nullopt: another path.
  struct TableAttributePath {
    AttributePath at;
    std::string table;  // Its path in the scheme.
  };
  std::optional<TableAttributePath> table_attribute(const Scheme& scheme,
                                                    const client::TreeScope& scope,
                                                    const std::string& path) const;
  Task<Result<void>> set_table_attribute(client::TreeScope scope, TableAttributePath at,
                                         std::optional<YsonNode> value, bool recursive);
  Task<Result<void>> set_here(client::TreeScope scope, std::string path, YsonNode value,
                              client::TreeSet options);
  static Result<void> check_table_attribute(const client::TreeScope& scope,
                                            const TableAttributePath& at);
  Task<Result<void>> set_attributes_here(client::TreeScope scope, std::string path, YsonMap values);
  Task<Result<void>> remove_here(client::TreeScope scope, std::string path,
                                 client::TreeRemove options);

  // A command of the scope has read the node. Returns its path if the access is to be stored before
  // the answer: the last one that was is older than the slack.
  std::optional<std::string> accessed(const PathNode& node, const client::TreeScope& scope);
  bool is_access_due(const PathNode& node) const;
  Task<void> store_access(std::optional<std::string> path);
  Access access_of(const PathNode& node) const;
  std::uint64_t now_ms() const;
  Instant now() const { return world_.executor.now(); }
  void pinged(const PathId& transaction);
  std::uint64_t last_ping_ms(const PathId& transaction) const;

  void follow(const Scheme& scheme);
  // After a change: tables and topics follow it, and leases and expiry.
  void follow(const TreeEffects& effects);
  Task<void> keep_house();
  Task<void> abort_nested(PathId transaction);
  Task<void> abort_overdue(SchemePtr scheme);
  Task<void> remove_expired(SchemePtr scheme);
  Instant next_visit() const;
  // When a node expires by what is known of its use.
  std::optional<std::uint64_t> expiry_of(const PathNode& node) const;

  World world_;
  SchemeHost& scheme_;
  StoredTables& tables_;
  StoredTopics& topics_;
  std::map<PathId, Lease> leases_;  // Of open transactions.
  std::map<PathId, Access> accessed_;
  std::uint64_t started_revision_ = 0;  // Of the newest change before the scheme's tablet started.
  TreeFigures figures_;
  Signal visit_;
  bool keeping_ = false;
  TaskScope scope_;
};

}  // namespace moraine
