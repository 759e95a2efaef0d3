// Locks and transactions of the tree (tree_editor.h).

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/invariant.h"
#include "scheme/object_id.h"
#include "scheme/path.h"
#include "scheme/tree_bug.h"
#include "scheme/tree_editor.h"

namespace moraine {
namespace {

// Whether two transactions that do not know of each other may have both.
bool compatible(const LockRecord& held, const LockRequest& wanted) {
  if (held.mode == LockMode::kSnapshot || wanted.mode == LockMode::kSnapshot) return true;
  if (held.mode == LockMode::kExclusive || wanted.mode == LockMode::kExclusive) return false;
  if (held.child_key && held.child_key == wanted.child_key) return false;
  return !held.attribute_key || held.attribute_key != wanted.attribute_key;
}

bool is_ancestor(const TreeState& state, const PathId& above, PathId below) {
  while (true) {
    const TransactionPtr known = state.transaction(below);
    if (!known || !known->parent) return false;
    if (*known->parent == above) return true;
    below = *known->parent;
  }
}

std::string same_transaction(const PathNode& node, const LockRecord& held, LockMode wanted) {
  return fmt::format(
      "Cannot take \"{}\" lock for node {} since \"{}\" lock is already taken by same transaction "
      "{}",
      to_string(wanted), shown_path(node), to_string(held.mode), to_text(held.transaction));
}

std::string other_transaction(const PathNode& node, const LockRecord& held,
                              const LockRequest& wanted, std::string_view whose) {
  const std::string transaction = to_text(held.transaction);
  if (held.mode == LockMode::kShared && wanted.mode == LockMode::kShared) {
    const bool child = held.child_key && held.child_key == wanted.child_key;
    const std::string_view kind = child ? "child" : "attribute";
    return fmt::format(
        "Cannot take lock for {} \"{}\" of node {} since this {} is locked by {} transaction {}",
        kind, child ? *held.child_key : *held.attribute_key, shown_path(node), kind, whose,
        transaction);
  }
  return fmt::format(
      "Cannot take \"{}\" lock for node {} since \"{}\" lock is taken by {} transaction {}",
      to_string(wanted.mode), shown_path(node), to_string(held.mode), whose, transaction);
}

// OK, or the conflict of one lock with a wish.
Result<void> check_one(const TreeState& state, const PathNode& node, const LockRecord& held,
                       const LockRequest& wanted, const std::optional<PathId>& transaction) {
  const bool snapshot = wanted.mode == LockMode::kSnapshot;
  if (transaction && held.transaction == *transaction) {
    if ((held.mode == LockMode::kSnapshot) == snapshot) return {};
    return fail(Errc::kLockConflict, same_transaction(node, held, wanted.mode));
  }
  if (compatible(held, wanted)) return {};
  if (transaction && is_ancestor(state, held.transaction, *transaction)) return {};
  const bool below = transaction && is_ancestor(state, *transaction, held.transaction);
  return fail(Errc::kLockConflict,
              other_transaction(node, held, wanted, below ? "descendant" : "concurrent"));
}

}  // namespace

Result<void> check_lock(const TreeState& state, const PathNode& node, const LockRequest& wanted,
                        const std::optional<PathId>& transaction) {
  if (state.locks().empty() || has_bug(TreeBug::kIgnoreLocks)) return {};
  for (const LockPtr& held : state.locks_of_node(node.id)) {
    if (!held->acquired) continue;
    TRY_VOID(check_one(state, node, *held, wanted, transaction));
  }
  return {};
}

Result<void> TreeEditor::check(const PathNode& node, const LockRequest& request) const {
  return check_lock(state_, node, request, transaction_);
}

bool TreeEditor::made_here(const PathNode& node) const {
  if (!transaction_) return false;
  const EntryPtr entry = state_.entry(*transaction_, node.path);
  return entry && entry->made && entry->made->id == node.id;
}

// Whether the transaction has a lock that allows this already.
bool TreeEditor::covered(const PathNode& node, const LockRequest& request) const {
  if (made_here(node)) return true;
  for (const LockPtr& held : state_.locks_of_node(node.id)) {
    if (!held->acquired || held->transaction != *transaction_) continue;
    if (held->mode == LockMode::kExclusive) return true;
    if (held->mode == request.mode && held->child_key == request.child_key &&
        held->attribute_key == request.attribute_key) {
      return true;
    }
  }
  return false;
}

Result<void> TreeEditor::check_lock_counts(const PathNode& node) const {
  if (state_.lock_count(*transaction_) >= kLocksPerTransactionMax) {
    return fail(Errc::kOverloaded, fmt::format("Transaction {} has {} locks already",
                                               to_text(*transaction_), kLocksPerTransactionMax));
  }
  if (state_.lock_count_of_node(node.id) >= kLocksPerNodeMax) {
    return fail(Errc::kOverloaded,
                fmt::format("Node {} has {} locks already", shown_path(node), kLocksPerNodeMax));
  }
  return {};
}

Result<void> TreeEditor::take(const PathNode& node, const LockRequest& request) {
  TRY_VOID(check(node, request));
  if (!transaction_ || covered(node, request)) return {};
  TRY_VOID(check_lock_counts(node));
  add_lock(node, request, true, true);
  return {};
}

void TreeEditor::add_lock(const PathNode& node, const LockRequest& request, bool implicit,
                          bool acquired) {
  auto lock = std::make_shared<LockRecord>();
  lock->id = new_object_id(context_.random, ObjectType::kLock);
  lock->transaction = *transaction_;
  lock->node = node.id;
  lock->mode = request.mode;
  lock->child_key = request.child_key;
  lock->attribute_key = request.attribute_key;
  lock->implicit = implicit;
  lock->acquired = acquired;
  lock->created_ms = context_.now_ms;
  lock->sequence = state_.last_lock_sequence() + 1;
  const PathId id = lock->id;
  put<LockPut>(id, LockPtr(), LockPtr(std::move(lock)));
}

void TreeEditor::take_snapshot(const PathNode& node, std::uint64_t rows_before) {
  auto snapshot = std::make_shared<TreeSnapshot>();
  snapshot->rows_before = rows_before;
  snapshot->node = std::make_shared<const PathNode>(node);
  if (node.kind == NodeKind::kDirectory) {
    for (const NodePtr& child : view_.children(node)) {
      snapshot->children.emplace_back(key_of(*child), child->id);
    }
  }
  put<SnapshotPut>(SnapshotKey{*transaction_, node.id}, SnapshotPtr(),
                   SnapshotPtr(std::move(snapshot)));
}

Result<LockPtr> TreeEditor::lock(const NodePtr& node, LockRequest request, bool waitable) {
  const bool keyed = request.child_key || request.attribute_key;
  if (keyed && request.mode != LockMode::kShared) {
    return fail(Errc::kInvalidArgument,
                "Only \"shared\" locks may have a child key or an attribute key");
  }
  if (node->path.empty()) {
    return fail(Errc::kUnsupported, "The root cannot be locked");
  }
  TRY_VOID(check_lock_counts(*node));
  auto allowed = check(*node, request);
  const auto all = state_.locks_of_node(node->id);
  const auto waiting =
      std::ranges::count_if(all, [](const LockPtr& one) { return !one->acquired; });
  const bool snapshot = request.mode == LockMode::kSnapshot;
  if (allowed && waiting > 0 && !snapshot) {
    allowed = fail(Errc::kLockConflict,
                   fmt::format("Cannot take \"{}\" lock for node {} since there are {} pending "
                               "lock(s) for this node",
                               to_string(request.mode), shown_path(*node), waiting));
  }
  const bool own =
      !allowed && allowed.error().context.find("same transaction") != std::string::npos;
  if (!allowed && (!waitable || own)) return std::unexpected(allowed.error());
  if (snapshot && !state_.snapshot(*transaction_, node->id)) {
    if (node->kind == NodeKind::kDirectory && view_.children(*node).size() > kSnapshotChildrenMax) {
      return fail(Errc::kOverloaded, fmt::format("{} has more than {} children", shown_path(*node),
                                                 kSnapshotChildrenMax));
    }
    take_snapshot(*node, request.rows_before);
  }
  add_lock(*node, request, false, allowed.has_value());
  return std::get<LockPut>(effects_.puts.back()).after;
}

Result<void> TreeEditor::unlock(const NodePtr& node) {
  bool any = false;
  for (const LockPtr& held : state_.locks_of_node(node->id)) {
    if (held->transaction != *transaction_ || held->implicit) continue;
    if (held->mode != LockMode::kSnapshot && state_.entry(*transaction_, node->path)) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("Node {} cannot be unlocked since it was changed by transaction {}",
                              shown_path(*node), to_text(*transaction_)));
    }
    put<LockPut>(held->id, held, LockPtr());
    any = true;
  }
  if (!any) return {};
  const bool still = std::ranges::any_of(state_.locks_of_node(node->id), [&](const LockPtr& held) {
    return held->transaction == *transaction_ && held->mode == LockMode::kSnapshot;
  });
  if (const SnapshotPtr kept = state_.snapshot(*transaction_, node->id); kept && !still) {
    put<SnapshotPut>(SnapshotKey{*transaction_, node->id}, kept, SnapshotPtr());
    drop_orphan(node->id);
  }
  grant(node->id);
  return {};
}

// Locks that waited for others, in their order.
void TreeEditor::grant(const PathId& node) {
  auto all = state_.locks_of_node(node);
  std::erase_if(all, [](const LockPtr& held) { return held->acquired; });
  std::ranges::sort(all, {}, [](const LockPtr& held) { return held->sequence; });
  PathNode known;
  known.id = node;
  for (const LockPtr& waiting : all) {
    const LockRequest request{waiting->mode, waiting->child_key, waiting->attribute_key};
    const bool free = check_lock(state_, known, request, waiting->transaction).has_value();
    if (!free && !has_bug(TreeBug::kGrantAtOnce)) return;
    auto granted = std::make_shared<LockRecord>(*waiting);
    granted->acquired = true;
    put<LockPut>(waiting->id, waiting, LockPtr(std::move(granted)));
  }
}

Result<TransactionPtr> TreeEditor::begin(TreeTransaction transaction) {
  if (state_.transactions().size() >= kTransactionsMax) {
    return fail(Errc::kOverloaded,
                fmt::format("{} transactions are open already", kTransactionsMax));
  }
  if (transaction.parent) {
    TRY_VOID(check_open(state_, *transaction.parent));
    if (TreeView(state_, transaction.parent).chain().size() >= kTransactionDepthMax) {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("Transactions are nested {} levels deep at most", kTransactionDepthMax));
    }
  }
  TRY_VOID(check_attributes(transaction.attributes));
  transaction.id =
      new_object_id(context_.random,
                    transaction.parent ? ObjectType::kNestedTransaction : ObjectType::kTransaction);
  transaction.created_ms = context_.now_ms;
  TransactionPtr made = std::make_shared<const TreeTransaction>(std::move(transaction));
  put<TransactionPut>(made->id, TransactionPtr(), made);
  return made;
}

// A table that was removed outside, when no snapshot needs it any more.
void TreeEditor::drop_orphan(const PathId& node) {
  const std::string hidden = hidden_path(node);
  if (!state_.nodes().find(hidden) || state_.has_snapshot(node)) return;
  const auto place = state_.place_of(node);
  if (place && place->transaction) return;
  erase_stored(hidden);
}

void TreeEditor::drop_snapshots(const PathId& transaction) {
  for (const SnapshotKey& key : state_.snapshots_of(transaction)) {
    put<SnapshotPut>(key, state_.snapshot(key.first, key.second), SnapshotPtr());
    drop_orphan(key.second);
  }
}

// The locks of a transaction that ends: to its parent, except for snapshots, or to nobody.
void TreeEditor::release_locks(const PathId& transaction, const std::optional<PathId>& to) {
  std::set<PathId> nodes;
  for (const LockPtr& held : state_.locks_of_transaction(transaction)) {
    nodes.insert(held->node);
    LockPtr after;
    if (to && held->acquired && held->mode != LockMode::kSnapshot) {
      auto moved = std::make_shared<LockRecord>(*held);
      moved->transaction = *to;
      after = std::move(moved);
    }
    put<LockPut>(held->id, held, std::move(after));
  }
  for (const PathId& node : nodes) grant(node);
}

void TreeEditor::abort(const PathId& transaction) {
  if (has_bug(TreeBug::kAbortKeepsChanges)) {
    std::ignore = commit(transaction);
    return;
  }
  for (const PathId& nested : state_.nested(transaction)) abort(nested);
  erase_below(transaction, "", false);
  release_locks(transaction, std::nullopt);
  drop_snapshots(transaction);
  put<TransactionPut>(transaction, state_.transaction(transaction), TransactionPtr());
  effects_.ended.push_back(transaction);
}

Result<void> TreeEditor::commit(const PathId& transaction) {
  TRY_VOID(check_open(state_, transaction));
  for (const PathId& nested : state_.nested(transaction)) abort(nested);
  std::optional<PathId> parent = state_.transaction(transaction)->parent;
  if (has_bug(TreeBug::kNestedCommitLeaks)) parent.reset();
  std::vector<std::pair<std::string, EntryPtr>> entries;
  for (auto at = state_.entries().lower_bound({transaction, {}});
       at != state_.entries().end() && at->first.first == transaction; ++at) {
    entries.emplace_back(at->first.second, at->second);
  }
  for (const auto& [path, entry] : entries) {
    if (parent) {
      commit_entry_to(*parent, path, entry);
    } else {
      commit_entry(path, entry);
    }
    put_entry({transaction, path}, nullptr);
  }
  release_locks(transaction, parent);
  drop_snapshots(transaction);
  put<TransactionPut>(transaction, state_.transaction(transaction), TransactionPtr());
  effects_.ended.push_back(transaction);
  if (parent && (state_.entry_count(*parent) > kEntriesPerTransactionMax ||
                 state_.lock_count(*parent) > kLocksPerTransactionMax)) {
    return fail(Errc::kOverloaded,
                fmt::format("Transaction {} would have changed more than {} nodes, or have more "
                            "than {} locks",
                            to_text(*parent), kEntriesPerTransactionMax, kLocksPerTransactionMax));
  }
  return {};
}

// Outside of transactions.
void TreeEditor::commit_entry(const std::string& path, const EntryPtr& entry) {
  if (entry->kind == TreeEntry::Kind::kChanged) {
    const NodePtr node = state_.find(path);
    if (!node) return;
    PathNode changed = *with_changes(*node, *entry);
    changed.revision = next_revision();
    store(std::move(changed));
    return;
  }
  if (const NodePtr there = state_.nodes().find(path)) {
    const std::vector<NodePtr> all = TreeView(state_).subtree(there, kNodesMax);
    for (auto at = all.rbegin(); at != all.rend(); ++at) erase_stored((*at)->path);
  }
  if (entry->made) {
    PathNode node = *entry->made;
    const std::string hidden = hidden_path(node.id);
    if (const NodePtr stored = state_.nodes().find(hidden)) {
      node.record = stored->record;
      put_node(hidden, nullptr);
    }
    node.revision = next_revision();
    store(std::move(node));
  }
  touch_parent(path);
}

void TreeEditor::commit_entry_to(const PathId& parent, const std::string& path,
                                 const EntryPtr& entry) {
  const EntryKey key{parent, path};
  if (entry->kind != TreeEntry::Kind::kChanged) {
    erase_below(parent, path, true);
    if (entry->made || TreeView(state_, parent).find(path)) put_entry(key, entry);
    return;
  }
  const EntryPtr known = state_.entry(parent, path);
  auto merged = known ? std::make_shared<TreeEntry>(*known) : std::make_shared<TreeEntry>(*entry);
  if (known && known->made) {
    merged->made = with_changes(*known->made, *entry);
  } else if (known) {
    if (entry->record) merged->record = entry->record;
    for (const auto& [name, value] : entry->attributes) merged->attributes[name] = value;
    for (const auto& [name, value] : entry->system) merged->system[name] = value;
    merged->modified_ms = std::max(merged->modified_ms, entry->modified_ms);
  }
  merged->revision = next_revision();
  put_entry(key, std::move(merged));
}

}  // namespace moraine
