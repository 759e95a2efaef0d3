// TreeEditor: one change of the tree, outside of transactions or in one of them: what it puts, and
// which locks it needs.
//
// Promise    Pure. Each call sees the effects of those before it. finish() returns all effects and
//            takes them back, as the destructor does: the caller applies them when they are
//            durable. A call that fails may leave some effects: the change is to be given up.
//            What is done in a transaction is seen by others after its commit; what others have a
//            lock on is not changed.
// Limits     kTreeBytesMax of all that the tree keeps; kTreePutsMax effects; kTransactionsMax;
//            kLocksPerTransactionMax, kLocksPerNodeMax and kEntriesPerTransactionMax; those of the
//            nodes. kTreeWritesMax of the effects of a
//            change are stored one by one (Scheme checks this): others are removed with their
//            subtree or transaction.
// Errors     kLockConflict with the messages of YTsaurus; kNoTransaction; kOverloaded: a limit;
//            kNotFound, kAlreadyExists, kInvalidArgument.
// Tests      node/tree_model_test.cpp, node/tree_transactions_test.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/random.h"
#include "scheme/tree_view.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kTreePutsMax = 100'000;  // Of one change.
inline constexpr std::size_t kTreeWritesMax = 9'000;
inline constexpr std::size_t kTabletsOfPartMax = 4'000;  // That TreeEditor::remove_part() deletes.
inline constexpr std::size_t kTreeBytesMax = std::size_t{1} << 30;
inline constexpr std::size_t kTransactionsMax = 10'000;
inline constexpr std::size_t kTransactionDepthMax = 30;
inline constexpr std::size_t kLocksPerTransactionMax = 3'000;
inline constexpr std::size_t kLocksPerNodeMax = 10'000;
inline constexpr std::size_t kEntriesPerTransactionMax = 2'000;
inline constexpr std::size_t kSnapshotChildrenMax = 10'000;
inline constexpr std::size_t kMutationsMax = 20'000;
inline constexpr std::uint64_t kMutationKeptMs = 10 * 60 * 1'000;

struct TreeEditContext {
  std::uint64_t now_ms = 0;
  Random& random;
  TabletId next_tablet{};
  std::string user = "root";
  std::size_t tree_bytes_max = kTreeBytesMax;
};

struct TreeEffects {
  std::vector<TreePutAny> puts;
  std::uint32_t tablets = 0;        // Ids that were allocated, from next_tablet on.
  std::vector<TabletInfo> deleted;  // Tablets of nodes that are gone.
  // All that was below these nodes, and all that these transactions had, is gone or put anew.
  std::vector<std::string> emptied;
  std::vector<PathId> ended;
};

struct LockRequest {
  LockMode mode = LockMode::kExclusive;
  std::optional<std::string> child_key;
  std::optional<std::string> attribute_key;
  std::uint64_t rows_before = 0;  // Of a snapshot of a table: TreeSnapshot::rows_before.
};

// Gets the first of the tablet ids that were allocated.
using TableRecordOf = std::function<Slice(TabletId first)>;

class TreeEditor {
 public:
  // kNoTransaction: `transaction` is not open.
  static Result<void> check_open(const TreeState& state, const PathId& transaction);
  TreeEditor(TreeState& state, TreeEditContext context, std::optional<PathId> transaction);
  TreeEditor(const TreeEditor&) = delete;
  TreeEditor& operator=(const TreeEditor&) = delete;
  ~TreeEditor();

  // kOverloaded: too many.
  Result<TreeEffects> finish();

  const TreeView& view() const { return view_; }
  // Tablets of the nodes that are gone so far.
  std::size_t deleted_tablets() const { return effects_.deleted.size(); }
  const TreeState& state() const { return state_; }
  const std::optional<PathId>& transaction() const { return transaction_; }
  const TreeEditContext& context() const { return context_; }
  PathId new_id(NodeKind kind);

  // A new node at a path whose directory is there and which has none. Takes the locks.
  Result<NodePtr> make(PathNode node, std::uint32_t tablets = 0,
                       const TableRecordOf& record = nullptr);
  // A new node with the rows of a table, which may get other tablets for that (table_copy.h).
  Result<NodePtr> make_table_copy(PathNode node, const PathNode& source);
  // The node and all below it.
  Result<void> remove(const NodePtr& root);
  // Outside of transactions: at most `most` of its nodes, the deepest ones.
  Result<void> remove_part(const NodePtr& root, std::size_t most);
  // The node was accessed. It counts as no change.
  void touch(const NodePtr& node, std::uint64_t accessed_ms);
  // Changes of a node that is there.
  Result<void> set_record(const NodePtr& node, Slice record);
  Result<void> set_attribute(const NodePtr& node, const std::string& name,
                             std::optional<Slice> value, bool system);
  // Moves all nodes of a subtree outside of transactions to another place; ids stay.
  Result<void> move(const NodePtr& root, const std::string& to);

  // Explicit locks. Requires: a transaction.
  Result<LockPtr> lock(const NodePtr& node, LockRequest request, bool waitable);
  Result<void> unlock(const NodePtr& node);
  // What a change needs: checks, and in a transaction takes the lock.
  Result<void> take(const PathNode& node, const LockRequest& request);

  Result<TransactionPtr> begin(TreeTransaction transaction);
  Result<void> commit(const PathId& transaction);
  // With its nested ones: where these may have many locks, abort them first.
  void abort(const PathId& transaction);

  void remember(const PathId& mutation, Slice result);
  // Results that are too old or too many.
  void forget_mutations();

 private:
  Result<void> check(const PathNode& node, const LockRequest& request) const;
  bool covered(const PathNode& node, const LockRequest& request) const;
  bool made_here(const PathNode& node) const;
  // kOverloaded: the transaction or the node has too many locks.
  Result<void> check_lock_counts(const PathNode& node) const;
  void add_lock(const PathNode& node, const LockRequest& request, bool implicit, bool acquired);
  void release_locks(const PathId& transaction, const std::optional<PathId>& to);
  void grant(const PathId& node);
  void drop_snapshots(const PathId& transaction);
  void take_snapshot(const PathNode& node, std::uint64_t rows_before);
  void drop_orphan(const PathId& node);

  void touch_parent(const std::string& path);
  void store(PathNode node);
  void change(const NodePtr& node, const std::function<void(PathNode&)>& directly,
              const std::function<void(TreeEntry&)>& entry);
  void erase_stored(const std::string& path);
  void drop_made(const TreeEntry& entry);
  void erase_below(const PathId& transaction, const std::string& path, bool itself);
  void commit_entry(const std::string& path, const EntryPtr& entry);
  void commit_entry_to(const PathId& parent, const std::string& path, const EntryPtr& entry);
  void ensure_directory(std::string_view path);
  std::uint64_t next_revision();

  template <class Put, class Key, class Value>
  void put(Key key, std::shared_ptr<const Value> before, std::shared_ptr<const Value> after);
  void put_node(const std::string& path, NodePtr after);
  void put_entry(const EntryKey& key, EntryPtr after);
  void take_back();

  TreeState& state_;
  TreeEditContext context_;
  const std::optional<PathId> transaction_;
  const std::size_t bytes_before_;
  TreeView view_;
  TreeEffects effects_;
};

template <class Put, class Key, class Value>
void TreeEditor::put(Key key, std::shared_ptr<const Value> before,
                     std::shared_ptr<const Value> after) {
  effects_.puts.emplace_back(Put{std::move(key), std::move(before), std::move(after)});
  state_.apply(effects_.puts.back());
}

// Whether locks allow a transaction, or a change outside of one, to take this lock.
Result<void> check_lock(const TreeState& state, const PathNode& node, const LockRequest& wanted,
                        const std::optional<PathId>& transaction);

// The tablets that the record of a table or topic has; none for other nodes.
Result<std::vector<TabletInfo>> tablets_of(const PathNode& node);

}  // namespace moraine
