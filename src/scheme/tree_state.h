// TreeState: everything that the scheme knows of its tree, in memory: nodes, transactions with
// their changes, locks and snapshots, results of mutations, and indexes of these.
//
// Promise    Pure. A change can be applied and taken back; after either the indexes are right.
//            The root, "sys", "tmp" and "home" are there from the start; they are stored when they
//            are changed for the first time.
// Limits     kNodesMax and those of the callers (tree_editor.h).
// Tests      node/tree_model_test.cpp, node/tree_transactions_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scheme/path_tree.h"
#include "scheme/tree_expiry.h"
#include "scheme/tree_records.h"
#include "tablet/tablet_info.h"

namespace moraine {

using TransactionPtr = std::shared_ptr<const TreeTransaction>;
using EntryPtr = std::shared_ptr<const TreeEntry>;
using LockPtr = std::shared_ptr<const LockRecord>;
using SnapshotPtr = std::shared_ptr<const TreeSnapshot>;
using MutationPtr = std::shared_ptr<const MutationRecord>;

// A value of one of the maps of the state, before and after a change; null: there is none.
template <class Key, class Value>
struct TreePut {
  Key key;
  std::shared_ptr<const Value> before;
  std::shared_ptr<const Value> after;
};
using EntryKey = std::pair<PathId, std::string>;  // Transaction and path.
using SnapshotKey = std::pair<PathId, PathId>;    // Transaction and node.
using NodePut = TreePut<std::string, PathNode>;
using TransactionPut = TreePut<PathId, TreeTransaction>;
using EntryPut = TreePut<EntryKey, TreeEntry>;
using LockPut = TreePut<PathId, LockRecord>;
using SnapshotPut = TreePut<SnapshotKey, TreeSnapshot>;
using MutationPut = TreePut<PathId, MutationRecord>;
using TreePutAny =
    std::variant<NodePut, TransactionPut, EntryPut, LockPut, SnapshotPut, MutationPut>;

class TreeState {
 public:
  // Nodes that no transaction hides; of all paths, also hidden ones (path.h).
  const PathTree& nodes() const { return nodes_; }
  PathTree& nodes() { return nodes_; }
  // The same with the built-in directories.
  NodePtr find(std::string_view path) const;
  // Names of the children of a directory, with the built-in ones.
  std::vector<NodePtr> children(std::string_view path) const;
  // Where the node with this id is; of a node that a transaction has made: in that transaction.
  struct Place {
    std::string path;
    std::optional<PathId> transaction;
  };
  std::optional<Place> place_of(const PathId& id) const;

  TransactionPtr transaction(const PathId& id) const { return get(transactions_, id); }
  const std::map<PathId, TransactionPtr>& transactions() const { return transactions_; }
  std::vector<PathId> nested(const PathId& id) const;
  EntryPtr entry(const PathId& transaction, const std::string& path) const;
  const std::map<EntryKey, EntryPtr>& entries() const { return entries_; }
  LockPtr lock(const PathId& id) const { return get(locks_, id); }
  const std::map<PathId, LockPtr>& locks() const { return locks_; }
  std::vector<LockPtr> locks_of_node(const PathId& node) const;
  std::vector<LockPtr> locks_of_transaction(const PathId& transaction) const;
  std::size_t lock_count(const PathId& transaction) const {
    return count(lock_counts_, transaction);
  }
  std::size_t lock_count_of_node(const PathId& node) const {
    return count(node_lock_counts_, node);
  }
  std::size_t entry_count(const PathId& transaction) const {
    return count(entry_counts_, transaction);
  }
  SnapshotPtr snapshot(const PathId& transaction, const PathId& node) const {
    return get(snapshots_, SnapshotKey{transaction, node});
  }
  std::vector<SnapshotKey> snapshots_of(const PathId& transaction) const;
  bool has_snapshot(const PathId& node) const;
  MutationPtr mutation(const PathId& id) const { return get(mutations_, id); }
  std::size_t mutation_count() const { return mutations_.size(); }
  MutationPtr oldest_mutation() const;

  // What all of it takes in memory, about.
  std::size_t bytes() const { return bytes_; }
  // How many tables name the tablet among those that they have replaced.
  std::size_t retired_by(TabletId tablet) const;

  // The largest revision of any node.
  std::uint64_t last_revision() const { return last_revision_; }
  std::uint64_t last_lock_sequence() const { return last_lock_sequence_; }
  // Nodes that expire: when, in milliseconds since 1970, and their paths, the earliest first.
  using Expiry = std::pair<std::uint64_t, std::string>;
  const std::set<Expiry>& expiring() const { return expiring_; }
  // What expiring() says of a node changes, until the node does.
  void postpone(const std::string& path, std::uint64_t at_ms);

  void apply(const TreePutAny& put);
  void revert(const TreePutAny& put);

 private:
  template <class Map>
  static typename Map::mapped_type get(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
  }
  void count_retired(const NodePtr& before, const NodePtr& after);
  void set_expiry(const std::string& path, std::optional<std::uint64_t> at_ms);
  using Counts = std::map<PathId, std::size_t>;
  static std::size_t count(const Counts& counts, const PathId& id) {
    const auto found = counts.find(id);
    return found == counts.end() ? 0 : found->second;
  }
  void set(const std::string& path, const NodePtr& before, const NodePtr& after);
  void set(const PathId& id, const TransactionPtr& before, const TransactionPtr& after);
  void set(const EntryKey& key, const EntryPtr& before, const EntryPtr& after);
  void set(const PathId& id, const LockPtr& before, const LockPtr& after);
  void set(const SnapshotKey& key, const SnapshotPtr& before, const SnapshotPtr& after);
  void set(const PathId& id, const MutationPtr& before, const MutationPtr& after);

  PathTree nodes_;
  std::map<PathId, std::string> paths_;      // By id.
  std::map<TabletId, std::size_t> retired_;  // How many tables name them; above 0.
  std::set<Expiry> expiring_;
  std::map<std::string, std::uint64_t, std::less<>> expires_;  // By path.
  std::map<PathId, TransactionPtr> transactions_;
  std::set<std::pair<PathId, PathId>> nested_;  // Parent and child.
  std::map<EntryKey, EntryPtr> entries_;
  std::map<PathId, EntryKey> made_;  // By the id of the node.
  std::map<PathId, LockPtr> locks_;
  std::set<std::pair<PathId, PathId>> node_locks_;         // Node and lock.
  std::set<std::pair<PathId, PathId>> transaction_locks_;  // Transaction and lock.
  Counts entry_counts_;                                    // By transaction.
  Counts lock_counts_;
  Counts node_lock_counts_;  // By node.
  std::map<SnapshotKey, SnapshotPtr> snapshots_;
  std::set<std::pair<PathId, PathId>> node_snapshots_;  // Node and transaction.
  std::map<PathId, MutationPtr> mutations_;
  std::set<std::pair<std::uint64_t, PathId>> mutation_order_;
  std::size_t bytes_ = 0;
  std::uint64_t last_revision_ = 0;
  std::uint64_t last_lock_sequence_ = 0;
};

// "", "sys", "tmp", "home": directories that cannot be removed.
bool is_builtin(std::string_view path);
// "1-2-191-5" for the hidden node of an id: "#1-2-191-5".
std::string hidden_path(const PathId& id);

}  // namespace moraine
