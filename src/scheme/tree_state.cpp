#include "scheme/tree_state.h"

#include <algorithm>
#include <array>

#include "base/invariant.h"
#include "scheme/object_id.h"
#include "scheme/path.h"
#include "scheme/table_record.h"

namespace moraine {
namespace {

// "1-0-1012f-N": of a map node.
PathId builtin_id(std::uint8_t number) {
  PathId id{};
  id[3] = 1;
  id[9] = 1;
  id[10] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(ObjectType::kMapNode) >> 8);
  id[11] = static_cast<std::uint8_t>(ObjectType::kMapNode);
  id[15] = number;
  return id;
}

const std::array<NodePtr, 4>& builtins() {
  static const std::array<NodePtr, 4> all = [] {
    const std::array<std::string_view, 4> paths = {"", "home", "sys", "tmp"};
    std::array<NodePtr, 4> made;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      auto node = std::make_shared<PathNode>();
      node->path = paths[i];
      node->id = builtin_id(static_cast<std::uint8_t>(i + 1));
      made[i] = std::move(node);
    }
    return made;
  }();
  return all;
}

// All keys of a set of pairs whose first part is `first`.
std::vector<PathId> seconds(const std::set<std::pair<PathId, PathId>>& pairs, const PathId& first) {
  std::vector<PathId> found;
  for (auto at = pairs.lower_bound({first, PathId{}}); at != pairs.end() && at->first == first;
       ++at) {
    found.push_back(at->second);
  }
  return found;
}

// Adds one for each value that appears, and takes one off for each that goes.
void recount(std::map<PathId, std::size_t>& counts, const PathId& id, bool before, bool after) {
  if (before == after) return;
  if (after) {
    ++counts[id];
  } else if (--counts[id] == 0) {
    counts.erase(id);
  }
}

template <class Map, class Value>
void put(Map& map, const typename Map::key_type& key, const Value& value) {
  if (value) {
    map[key] = value;
  } else {
    map.erase(key);
  }
}

// What the indexes of one value take, about.
constexpr std::size_t kIndexBytes = 200;

std::size_t bytes_of(const UserAttributes& attributes) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : attributes) bytes += kIndexBytes + name.size() + value.size();
  return bytes;
}
std::size_t bytes_of(const AttributeChanges& changes) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : changes) {
    bytes += kIndexBytes + name.size() + (value ? value->size() : 0);
  }
  return bytes;
}
std::size_t bytes_of(const PathNode& node) {
  return sizeof node + 2 * node.path.size() + node.record.size() + bytes_of(node.attributes) +
         bytes_of(node.system);
}
std::size_t bytes_of(const TreeTransaction& transaction) {
  return sizeof transaction + transaction.user.size() + bytes_of(transaction.attributes);
}
std::size_t bytes_of(const TreeEntry& entry) {
  return sizeof entry + (entry.made ? bytes_of(*entry.made) : 0) +
         (entry.record ? entry.record->size() : 0) + bytes_of(entry.attributes) +
         bytes_of(entry.system);
}
std::size_t bytes_of(const LockRecord& lock) {
  return sizeof lock + (lock.child_key ? lock.child_key->size() : 0) +
         (lock.attribute_key ? lock.attribute_key->size() : 0);
}
std::size_t bytes_of(const TreeSnapshot& snapshot) {
  std::size_t bytes = sizeof snapshot + (snapshot.node ? bytes_of(*snapshot.node) : 0);
  for (const auto& child : snapshot.children) bytes += sizeof child + child.first.size();
  return bytes;
}
std::size_t bytes_of(const MutationRecord& mutation) {
  return sizeof mutation + mutation.result.size();
}

template <class Value>
std::size_t bytes_with_indexes(const std::shared_ptr<const Value>& value) {
  return value ? kIndexBytes + bytes_of(*value) : 0;
}

}  // namespace

bool is_builtin(std::string_view path) {
  return std::ranges::any_of(builtins(), [&](const NodePtr& node) { return node->path == path; });
}

std::string hidden_path(const PathId& id) {
  return "#" + to_text(id);
}

NodePtr TreeState::find(std::string_view path) const {
  if (NodePtr node = nodes_.find(path)) return node;
  for (const NodePtr& node : builtins()) {
    if (node->path == path) return node;
  }
  return nullptr;
}

std::vector<NodePtr> TreeState::children(std::string_view path) const {
  auto listed = nodes_.list(path);
  std::vector<NodePtr> found = listed ? std::move(*listed) : std::vector<NodePtr>();
  if (!path.empty()) return found;
  for (const NodePtr& node : builtins()) {
    if (!node->path.empty() && !nodes_.find(node->path)) found.push_back(node);
  }
  std::ranges::sort(found, {},
                    [](const NodePtr& node) -> const std::string& { return node->path; });
  return found;
}

std::optional<TreeState::Place> TreeState::place_of(const PathId& id) const {
  if (const auto made = made_.find(id); made != made_.end()) {
    return Place{made->second.second, made->second.first};
  }
  if (const auto found = paths_.find(id); found != paths_.end()) return Place{found->second, {}};
  for (const NodePtr& node : builtins()) {
    if (node->id == id) return Place{node->path, {}};
  }
  return std::nullopt;
}

std::vector<PathId> TreeState::nested(const PathId& id) const {
  return seconds(nested_, id);
}

EntryPtr TreeState::entry(const PathId& transaction, const std::string& path) const {
  return get(entries_, EntryKey{transaction, path});
}

std::vector<LockPtr> TreeState::locks_of_node(const PathId& node) const {
  std::vector<LockPtr> found;
  for (const PathId& id : seconds(node_locks_, node)) found.push_back(lock(id));
  return found;
}

std::vector<LockPtr> TreeState::locks_of_transaction(const PathId& transaction) const {
  std::vector<LockPtr> found;
  for (const PathId& id : seconds(transaction_locks_, transaction)) found.push_back(lock(id));
  return found;
}

std::vector<SnapshotKey> TreeState::snapshots_of(const PathId& transaction) const {
  std::vector<SnapshotKey> found;
  for (auto at = snapshots_.lower_bound({transaction, PathId{}});
       at != snapshots_.end() && at->first.first == transaction; ++at) {
    found.push_back(at->first);
  }
  return found;
}

bool TreeState::has_snapshot(const PathId& node) const {
  const auto at = node_snapshots_.lower_bound({node, PathId{}});
  return at != node_snapshots_.end() && at->first == node;
}

MutationPtr TreeState::oldest_mutation() const {
  return mutation_order_.empty() ? nullptr : mutation(mutation_order_.begin()->second);
}

void TreeState::set_expiry(const std::string& path, std::optional<std::uint64_t> at_ms) {
  if (const auto known = expires_.find(path); known != expires_.end()) {
    expiring_.erase({known->second, path});
    expires_.erase(known);
  }
  if (!at_ms) return;
  expires_.emplace(path, *at_ms);
  expiring_.emplace(*at_ms, path);
}

void TreeState::postpone(const std::string& path, std::uint64_t at_ms) {
  if (expires_.contains(path)) set_expiry(path, at_ms);
}

void TreeState::apply(const TreePutAny& put) {
  std::visit(
      [this](const auto& one) {
        bytes_ += bytes_with_indexes(one.after) - bytes_with_indexes(one.before);
        set(one.key, one.before, one.after);
      },
      put);
}

void TreeState::revert(const TreePutAny& put) {
  std::visit(
      [this](const auto& one) {
        bytes_ += bytes_with_indexes(one.before) - bytes_with_indexes(one.after);
        set(one.key, one.after, one.before);
      },
      put);
}

std::size_t TreeState::retired_by(TabletId tablet) const {
  const auto found = retired_.find(tablet);
  return found == retired_.end() ? 0 : found->second;
}

void TreeState::count_retired(const NodePtr& before, const NodePtr& after) {
  const bool was_table = before && before->kind == NodeKind::kTable;
  const bool is_table = after && after->kind == NodeKind::kTable;
  if (was_table && is_table && before->record.data() == after->record.data()) return;
  if (was_table) {
    for (const TabletId id : retired_tablets(*before)) {
      const auto found = retired_.find(id);
      if (found != retired_.end() && --found->second == 0) retired_.erase(found);
    }
  }
  if (!is_table) return;
  for (const TabletId id : retired_tablets(*after)) ++retired_[id];
}

void TreeState::set(const std::string& path, const NodePtr& before, const NodePtr& after) {
  count_retired(before, after);
  if (before) {
    const auto known = paths_.find(before->id);
    if (known != paths_.end() && known->second == path) paths_.erase(known);
    set_expiry(path, std::nullopt);
  }
  if (!after) {
    nodes_.erase(path);
    return;
  }
  paths_[after->id] = path;
  if (!after->system.empty()) set_expiry(path, expires_at(*after));
  last_revision_ = std::max(last_revision_, after->revision);
  const auto stored = nodes_.set(after);
  INVARIANT(stored, "a change puts a node into no directory: {}", stored.error().message());
}

void TreeState::set(const PathId& id, const TransactionPtr& before, const TransactionPtr& after) {
  if (before && before->parent) nested_.erase({*before->parent, id});
  if (after && after->parent) nested_.insert({*after->parent, id});
  put(transactions_, id, after);
}

void TreeState::set(const EntryKey& key, const EntryPtr& before, const EntryPtr& after) {
  if (before && before->made) {
    const auto known = made_.find(before->made->id);
    if (known != made_.end() && known->second == key) made_.erase(known);
  }
  if (after && after->made) made_[after->made->id] = key;
  if (after) last_revision_ = std::max(last_revision_, after->revision);
  recount(entry_counts_, key.first, before != nullptr, after != nullptr);
  put(entries_, key, after);
}

void TreeState::set(const PathId& id, const LockPtr& before, const LockPtr& after) {
  if (before) {
    node_locks_.erase({before->node, id});
    transaction_locks_.erase({before->transaction, id});
    recount(lock_counts_, before->transaction, true, false);
    recount(node_lock_counts_, before->node, true, false);
  }
  if (after) {
    recount(lock_counts_, after->transaction, false, true);
    recount(node_lock_counts_, after->node, false, true);
    node_locks_.insert({after->node, id});
    transaction_locks_.insert({after->transaction, id});
    last_lock_sequence_ = std::max(last_lock_sequence_, after->sequence);
  }
  put(locks_, id, after);
}

void TreeState::set(const SnapshotKey& key, const SnapshotPtr& before, const SnapshotPtr& after) {
  if (before) node_snapshots_.erase({key.second, key.first});
  if (after) node_snapshots_.insert({key.second, key.first});
  put(snapshots_, key, after);
}

void TreeState::set(const PathId& id, const MutationPtr& before, const MutationPtr& after) {
  if (before) mutation_order_.erase({before->created_ms, id});
  if (after) mutation_order_.insert({after->created_ms, id});
  put(mutations_, id, after);
}

}  // namespace moraine
