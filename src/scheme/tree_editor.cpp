#include "scheme/tree_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "scheme/object_id.h"
#include "scheme/path.h"
#include "scheme/table_copy.h"
#include "scheme/topic_record.h"

namespace moraine {
namespace {

Slice owned(const Slice& value) {
  return Slice::copy_of(value.span());
}

}  // namespace

Result<std::vector<TabletInfo>> tablets_of(const PathNode& node) {
  std::vector<TabletInfo> infos;
  if (node.kind == NodeKind::kTable) {
    TRY(const TableRecord table, decode_table(node));
    for (const TabletOfTable& tablet : table.tablets) infos.push_back(tablet.info);
    infos.insert(infos.end(), table.retired.begin(), table.retired.end());
  }
  if (node.kind == NodeKind::kTopic) {
    TRY(const TopicRecord topic, decode_topic(node));
    for (const TopicTablet& tablet : topic.tablets) infos.push_back(tablet.info);
  }
  return infos;
}

Result<void> TreeEditor::check_open(const TreeState& state, const PathId& transaction) {
  if (state.transaction(transaction)) return {};
  return fail(Errc::kNoTransaction, fmt::format("No such transaction {}", to_text(transaction)));
}

TreeEditor::TreeEditor(TreeState& state, TreeEditContext context, std::optional<PathId> transaction)
    : state_(state),
      context_(std::move(context)),
      transaction_(transaction),
      bytes_before_(state.bytes()),
      view_(state, transaction) {}

TreeEditor::~TreeEditor() {
  take_back();
}

void TreeEditor::take_back() {
  for (auto at = effects_.puts.rbegin(); at != effects_.puts.rend(); ++at) state_.revert(*at);
  effects_.puts.clear();
}

Result<TreeEffects> TreeEditor::finish() {
  if (effects_.puts.size() > kTreePutsMax) {
    return fail(Errc::kOverloaded,
                fmt::format("The change affects {} nodes and locks, more than {}",
                            effects_.puts.size(), kTreePutsMax));
  }
  if (state_.bytes() > std::max(context_.tree_bytes_max, bytes_before_)) {
    return fail(Errc::kOverloaded,
                fmt::format("The tree has {} bytes of values, attributes and locks, with this "
                            "change more than {}: remove nodes, or end transactions",
                            bytes_before_, context_.tree_bytes_max));
  }
  TreeEffects effects = effects_;
  std::erase_if(effects.deleted,
                [this](const TabletInfo& info) { return state_.retired_by(info.id) > 0; });
  take_back();
  return effects;
}

PathId TreeEditor::new_id(NodeKind kind) {
  return new_object_id(context_.random, object_type_of(kind));
}

// Microseconds since 1970, or one more than the last one: later ones are larger.
std::uint64_t TreeEditor::next_revision() {
  return std::max(context_.now_ms * 1'000, state_.last_revision() + 1);
}

void TreeEditor::put_node(const std::string& path, NodePtr after) {
  put<NodePut>(path, state_.nodes().find(path), std::move(after));
}

void TreeEditor::put_entry(const EntryKey& key, EntryPtr after) {
  put<EntryPut>(key, state_.entry(key.first, key.second), std::move(after));
}

// Directories that are built in, or that were removed by other means, are stored.
void TreeEditor::ensure_directory(std::string_view path) {
  if (path.empty() || state_.nodes().find(path)) return;
  ensure_directory(parent_of(path));
  PathNode node;
  if (const NodePtr known = state_.find(path)) {
    node = *known;
  } else {
    node.path = path;
    node.id = new_id(NodeKind::kDirectory);
  }
  if (node.created_ms == 0) node.created_ms = context_.now_ms;
  put_node(node.path, std::make_shared<const PathNode>(node));
}

// A node outside of transactions.
void TreeEditor::store(PathNode node) {
  ensure_directory(parent_of(node.path));
  const std::string path = node.path;
  put_node(path, std::make_shared<const PathNode>(std::move(node)));
}

void TreeEditor::touch_parent(const std::string& path) {
  const NodePtr parent = state_.find(parent_of(path));
  if (!parent || parent->path.empty()) return;
  PathNode changed = *parent;
  changed.modified_ms = context_.now_ms;
  changed.revision = next_revision();
  store(std::move(changed));
}

Result<NodePtr> TreeEditor::make(PathNode node, std::uint32_t tablets,
                                 const TableRecordOf& record) {
  TRY_VOID(check_path(node.path));
  TRY_VOID(check_attributes(node.attributes));
  TRY_VOID(check_attributes(node.system));
  if (state_.nodes().size() >= kNodesMax) {
    return fail(Errc::kOverloaded, fmt::format("The tree has {} nodes already", kNodesMax));
  }
  const std::string path = node.path;
  const NodePtr parent = view_.find(std::string(parent_of(path)));
  if (!parent || parent->kind != NodeKind::kDirectory) {
    return fail(Errc::kNotFound, fmt::format("No map node for {}", shown_path(node)));
  }
  TRY_VOID(take(*parent, {LockMode::kShared, key_of(node), {}}));
  node.id = new_id(node.kind);
  if (node.created_ms == 0) node.created_ms = context_.now_ms;
  if (node.modified_ms == 0) node.modified_ms = context_.now_ms;
  node.touched_ms = context_.now_ms;
  node.revision = next_revision();
  if (record) node.record = record(TabletId{context_.next_tablet.value + effects_.tablets});
  effects_.tablets += tablets;
  if (node.record.size() > kRecordBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("A value of {} bytes, more than {}",
                                                    node.record.size(), kRecordBytesMax));
  }
  if (!transaction_) {
    store(std::move(node));
    touch_parent(path);
    return state_.find(path);
  }
  if (state_.entry_count(*transaction_) >= kEntriesPerTransactionMax) {
    return fail(Errc::kOverloaded, fmt::format("Transaction {} has changed {} nodes already",
                                               to_text(*transaction_), kEntriesPerTransactionMax));
  }
  if (node.kind == NodeKind::kTable) {
    PathNode hidden = node;
    hidden.path = hidden_path(node.id);
    hidden.attributes.clear();
    hidden.system.clear();
    put_node(hidden.path, std::make_shared<const PathNode>(hidden));
    node.record = Slice();
  }
  auto entry = std::make_shared<TreeEntry>();
  entry->kind = TreeEntry::Kind::kMade;
  entry->revision = node.revision;
  entry->made = std::make_shared<const PathNode>(std::move(node));
  put_entry({*transaction_, path}, entry);
  return entry->made;
}

// Others need not know that the source has other tablets now: it is no change of the node.
Result<NodePtr> TreeEditor::make_table_copy(PathNode node, const PathNode& source) {
  const std::string stored = view_.stored_path(source);
  const NodePtr known = state_.nodes().find(stored);
  if (!known) {
    return fail(Errc::kNotFound, fmt::format("No such table {}", shown_path(source)));
  }
  TRY(const TableRecord record, decode_table(*known));
  const TabletId first{context_.next_tablet.value + effects_.tablets};
  TRY(TableCopy copy, copy_table(record, shown_path(source), first));
  effects_.tablets += copy.tablets;
  if (copy.source) {
    PathNode changed = *known;
    changed.record = encode_table(*copy.source);
    if (changed.record.size() > kRecordBytesMax) {
      return fail(
          Errc::kOverloaded,
          fmt::format("{} has too many tablets that were replaced; mount it, so that it can "
                      "release them",
                      shown_path(source)));
    }
    put_node(stored, std::make_shared<const PathNode>(std::move(changed)));
  }
  return make(std::move(node), 0, [&](TabletId) { return encode_table(copy.copy); });
}

// A node outside of transactions, or a hidden one, is gone. A table that a snapshot has stays as a
// hidden one.
void TreeEditor::erase_stored(const std::string& path) {
  const NodePtr node = state_.nodes().find(path);
  if (!node) return;
  const bool kept = node->kind == NodeKind::kTable && state_.has_snapshot(node->id);
  if (kept && !is_hidden(path)) {
    PathNode hidden = *node;
    hidden.path = hidden_path(node->id);
    hidden.system.clear();
    put_node(path, nullptr);
    put_node(hidden.path, std::make_shared<const PathNode>(hidden));
    return;
  }
  if (kept) return;
  if (auto tablets = tablets_of(*node)) {
    effects_.deleted.insert(effects_.deleted.end(), tablets->begin(), tablets->end());
  }
  put_node(path, nullptr);
}

// What a transaction has made is not needed any more.
void TreeEditor::drop_made(const TreeEntry& entry) {
  if (entry.made && entry.made->kind == NodeKind::kTable) erase_stored(hidden_path(entry.made->id));
}

// The entries of a transaction below a path.
void TreeEditor::erase_below(const PathId& transaction, const std::string& path, bool itself) {
  std::vector<EntryPtr> dropped;
  std::vector<EntryKey> keys;
  const auto collect = [&](const EntryKey& key, const EntryPtr& entry) {
    keys.push_back(key);
    dropped.push_back(entry);
  };
  if (const EntryPtr own = state_.entry(transaction, path); own && itself) {
    collect({transaction, path}, own);
  }
  const std::string prefix = path.empty() ? std::string() : path + "/";
  const auto& entries = state_.entries();
  for (auto at = entries.lower_bound({transaction, prefix});
       at != entries.end() && at->first.first == transaction &&
       at->first.second.starts_with(prefix);
       ++at) {
    collect(at->first, at->second);
  }
  for (const EntryKey& key : keys) put_entry(key, nullptr);
  for (const EntryPtr& entry : dropped) drop_made(*entry);
}

Result<void> TreeEditor::remove(const NodePtr& root) {
  if (is_builtin(root->path)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Node {} cannot be removed", shown_path(*root)));
  }
  const std::vector<NodePtr> all = view_.subtree(root, kTreePutsMax);
  if (all.size() > kTreePutsMax) {
    return fail(Errc::kOverloaded,
                fmt::format("{} has more than {} nodes; remove parts of it first",
                            shown_path(*root), kTreePutsMax));
  }
  if (const NodePtr parent = view_.find(std::string(parent_of(root->path)))) {
    TRY_VOID(take(*parent, {LockMode::kShared, key_of(*root), {}}));
  }
  for (const NodePtr& node : all) {
    TRY_VOID(take(*node, {LockMode::kExclusive, {}, {}}));
    if (!transaction_) {
      TRY_VOID(tablets_of(*node));
    }
  }
  if (!transaction_) {
    for (auto at = all.rbegin(); at != all.rend(); ++at) erase_stored((*at)->path);
    if (all.size() > 1) effects_.emptied.push_back(root->path);
    touch_parent(root->path);
    return {};
  }
  erase_below(*transaction_, root->path, true);
  if (!view_.find(root->path)) return {};
  auto entry = std::make_shared<TreeEntry>();
  entry->kind = TreeEntry::Kind::kRemoved;
  entry->revision = next_revision();
  put_entry({*transaction_, root->path}, std::move(entry));
  return {};
}

Result<void> TreeEditor::remove_part(const NodePtr& root, std::size_t most) {
  const std::vector<NodePtr> all = view_.subtree(root, kNodesMax);
  for (const NodePtr& node : all) {
    TRY_VOID(take(*node, {LockMode::kExclusive, {}, {}}));
    TRY_VOID(tablets_of(*node));
  }
  // By levels: what comes later has nothing below it but later ones.
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    if (effects_.deleted.size() + kTabletsPerTableMax > kTabletsOfPartMax) break;
    erase_stored(all[all.size() - 1 - i]->path);
  }
  return {};
}

void TreeEditor::touch(const NodePtr& node, std::uint64_t accessed_ms) {
  PathNode touched = *node;
  touched.touched_ms = accessed_ms;
  store(std::move(touched));
}

void TreeEditor::change(const NodePtr& node, const std::function<void(PathNode&)>& directly,
                        const std::function<void(TreeEntry&)>& entry) {
  if (!transaction_) {
    PathNode changed = *state_.find(node->path);
    directly(changed);
    changed.modified_ms = context_.now_ms;
    changed.revision = next_revision();
    store(std::move(changed));
    return;
  }
  const EntryKey key{*transaction_, node->path};
  const EntryPtr known = state_.entry(key.first, key.second);
  auto changed = known ? std::make_shared<TreeEntry>(*known) : std::make_shared<TreeEntry>();
  changed->modified_ms = context_.now_ms;
  changed->revision = next_revision();
  if (changed->made) {
    auto made = std::make_shared<PathNode>(*changed->made);
    directly(*made);
    made->modified_ms = context_.now_ms;
    made->revision = changed->revision;
    changed->made = std::move(made);
  } else {
    entry(*changed);
  }
  put_entry(key, std::move(changed));
}

Result<void> TreeEditor::set_record(const NodePtr& node, Slice record) {
  if (record.size() > kRecordBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("A value of {} bytes, more than {}", record.size(), kRecordBytesMax));
  }
  TRY_VOID(take(*node, {LockMode::kExclusive, {}, {}}));
  const Slice kept = owned(record);
  change(
      node, [&](PathNode& changed) { changed.record = kept; },
      [&](TreeEntry& entry) { entry.record = kept; });
  return {};
}

Result<void> TreeEditor::set_attribute(const NodePtr& node, const std::string& name,
                                       std::optional<Slice> value, bool system) {
  if (node->path.empty()) {
    return fail(Errc::kUnsupported, "Attributes of the root cannot be set");
  }
  UserAttributes after = system ? node->system : node->attributes;
  if (value) {
    value = owned(*value);
    after.insert_or_assign(name, *value);
    TRY_VOID(check_attributes(after));
  }
  TRY_VOID(take(*node, {LockMode::kShared, {}, name}));
  const auto directly = [&](PathNode& changed) {
    UserAttributes& attributes = system ? changed.system : changed.attributes;
    if (value) {
      attributes.insert_or_assign(name, *value);
    } else {
      attributes.erase(name);
    }
  };
  change(node, directly, [&](TreeEntry& entry) {
    (system ? entry.system : entry.attributes).insert_or_assign(name, value);
  });
  return {};
}

Result<void> TreeEditor::move(const NodePtr& root, const std::string& to) {
  const std::vector<NodePtr> all = view_.subtree(root, kTreeWritesMax / 2);
  if (all.size() > kTreeWritesMax / 2) {
    return fail(Errc::kOverloaded, fmt::format("{} has more than {} nodes; move parts of it first",
                                               shown_path(*root), kTreeWritesMax / 2));
  }
  if (const NodePtr parent = view_.find(std::string(parent_of(root->path)))) {
    TRY_VOID(take(*parent, {LockMode::kShared, key_of(*root), {}}));
  }
  std::vector<PathNode> moved;
  for (const NodePtr& node : all) {
    TRY_VOID(take(*node, {LockMode::kExclusive, {}, {}}));
    PathNode there = *node;
    there.path = to + node->path.substr(root->path.size());
    there.revision = next_revision();
    TRY_VOID(check_path(there.path));
    moved.push_back(std::move(there));
  }
  if (const NodePtr parent = view_.find(std::string(parent_of(to)))) {
    TRY_VOID(take(*parent, {LockMode::kShared, key_of(moved.front()), {}}));
  }
  for (auto at = all.rbegin(); at != all.rend(); ++at) put_node((*at)->path, nullptr);
  for (PathNode& node : moved) store(std::move(node));
  touch_parent(root->path);
  touch_parent(to);
  return {};
}

void TreeEditor::remember(const PathId& mutation, Slice result) {
  auto record = std::make_shared<MutationRecord>();
  record->id = mutation;
  record->created_ms = context_.now_ms;
  record->result = owned(result);
  put<MutationPut>(mutation, state_.mutation(mutation), MutationPtr(std::move(record)));
}

void TreeEditor::forget_mutations() {
  constexpr std::size_t kForgottenMax = 100;  // At once.
  for (std::size_t i = 0; i < kForgottenMax; ++i) {
    const MutationPtr oldest = state_.oldest_mutation();
    if (!oldest) return;
    const bool old = oldest->created_ms + kMutationKeptMs < context_.now_ms;
    if (!old && state_.mutation_count() <= kMutationsMax) return;
    put<MutationPut>(oldest->id, oldest, MutationPtr());
  }
}

}  // namespace moraine
