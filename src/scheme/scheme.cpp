#include "scheme/scheme.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "scheme/next_tablet.h"
#include "scheme/object_id.h"
#include "scheme/path.h"
#include "scheme/table_record.h"
#include "scheme/tablet_record.h"
#include "scheme/tree_bug.h"
#include "scheme/tree_store.h"

namespace moraine {
namespace {

constexpr std::string_view kDeletionPrefix = "doomed/";
constexpr std::string_view kNextTabletKey = "next_tablet";
constexpr std::uint64_t kLoadedBytes = 8u << 20;  // At once.

std::string deletion_key(TabletId id) {
  return fmt::format("{}{:016x}", kDeletionPrefix, id.value);
}

// The keys of what is gone as a whole: none is the prefix of another.
std::set<std::string> erased_prefixes(const TreeEffects& effects) {
  std::set<std::string> all;
  for (const std::string& path : effects.emptied) all.insert(subtree_prefix(path));
  for (const PathId& transaction : effects.ended) {
    for (std::string& prefix : transaction_prefixes(transaction)) all.insert(std::move(prefix));
  }
  std::set<std::string> kept;
  for (const std::string& prefix : all) {
    if (kept.empty() || !prefix.starts_with(*kept.rbegin())) kept.insert(kept.end(), prefix);
  }
  return kept;
}

bool has_prefix_in(const std::set<std::string>& prefixes, const std::string& key) {
  const auto after = prefixes.upper_bound(key);
  return after != prefixes.begin() && key.starts_with(*std::prev(after));
}

// A value of a request may be a small part of a large buffer, which the tree would keep alive.
Slice owned(const Slice& value) {
  return Slice::copy_of(value.span());
}

}  // namespace

Task<Result<std::unique_ptr<Scheme>>> Scheme::boot(World world, BlobGroups& groups, TabletInfo info,
                                                   SchemeOptions options) {
  std::unique_ptr<Scheme> scheme(new Scheme(world, options.first_tablet));
  CO_TRY(scheme->tablet_, co_await KeyValue::boot(world, groups, std::move(info), options.leader));
  auto loaded = co_await scheme->load();
  // It may have ended meanwhile; from here on on_end() reports it.
  if (const auto& ended = scheme->tablet_->leader().ended(); loaded && ended) {
    loaded = std::unexpected(*ended);
  }
  if (!loaded) {
    co_await scheme->stop();
    co_return std::unexpected(loaded.error());
  }
  co_return std::move(scheme);
}

// In key order, so that a directory is loaded before its children.
Task<Result<void>> Scheme::load() {
  KeyRange range;
  while (true) {
    CO_TRY(const RangeRead page, co_await tablet_->read_range(range, kLoadedBytes, true));
    for (const RangeRead::Item& item : page.items) {
      CO_TRY_VOID(load_item(item.info.key, item.value));
    }
    if (!page.overrun) co_return Result<void>();
    if (page.items.empty()) co_return fail(Errc::kCorrupt, "a value of the scheme is too long");
    range.from = page.items.back().info.key;
    range.from_inclusive = false;
  }
}

Result<void> Scheme::load_item(const std::string& key, const Slice& value) {
  if (key == kNextTabletKey) {
    TRY(const TabletId next, decode_next_tablet(value));
    next_tablet_ = std::max(next_tablet_, next);
    return {};
  }
  if (key.starts_with(kDeletionPrefix)) {
    TRY(TabletInfo info, decode_tablet(value));
    const TabletId id = info.id;
    deletions_.emplace(id, std::move(info));
    return {};
  }
  return load_tree_item(state_, key, value);
}

Task<Result<void>> Scheme::begin_change() {
  if (changes_.waiting() >= kSchemeChangesMax) {
    co_return fail(Errc::kOverloaded,
                   fmt::format("{} changes of the tree are waiting", changes_.waiting()));
  }
  co_await changes_.acquire();
  co_return Result<void>();
}

Task<Result<NodePtr>> Scheme::create(CreateNode request) {
  CO_TRY_VOID(co_await begin_change());
  auto created = co_await create_locked(std::move(request));
  changes_.release();
  co_return created;
}

Task<Result<NodePtr>> Scheme::alter(AlterNode request) {
  CO_TRY_VOID(co_await begin_change());
  auto altered = co_await alter_locked(std::move(request));
  changes_.release();
  co_return altered;
}

Task<Result<NodePtr>> Scheme::alter_attributes(AlterAttributes request) {
  CO_TRY_VOID(co_await begin_change());
  auto altered = co_await alter_attributes_locked(std::move(request));
  changes_.release();
  co_return altered;
}

Task<Result<void>> Scheme::remove(RemoveNode request) {
  CO_TRY_VOID(co_await begin_change());
  auto removed = co_await remove_locked(std::move(request));
  changes_.release();
  co_return removed;
}

Task<Result<NodePtr>> Scheme::create_locked(CreateNode request) {
  CO_TRY(const std::vector<std::string> parents,
         state_.nodes().missing_parents(request.path, request.parents));
  CO_TRY_VOID(check_attributes(request.attributes));
  CO_TRY_VOID(check_locks(parents.empty() ? request.path : parents.front(), true));
  CO_TRY(const Slice record, make_record(request.record, request.tablets));
  const auto now_ms = static_cast<std::uint64_t>(world_.clock.since_epoch().count());
  std::vector<NodePtr> nodes;
  const auto make = [&](NodeKind kind, const std::string& path) {
    auto node = std::make_shared<PathNode>();
    node->kind = kind;
    node->path = path;
    node->id = kind == NodeKind::kTopic ? new_path_id(world_.random)
                                        : new_object_id(world_.random, object_type_of(kind));
    // The built-in directories have ids of their own.
    if (const NodePtr builtin = state_.find(path)) node->id = builtin->id;
    node->created_ms = now_ms;
    node->touched_ms = now_ms;
    note_change(*node);
    return node;
  };
  for (const std::string& parent : parents) nodes.push_back(make(NodeKind::kDirectory, parent));
  const auto node = make(request.kind, request.path);
  node->record = record;
  for (const auto& [name, value] : request.attributes) node->attributes.emplace(name, owned(value));
  const NodePtr created = node;
  nodes.push_back(created);
  CO_TRY_VOID(co_await store_nodes(std::move(nodes), request.tablets));
  co_return created;
}

Task<Result<NodePtr>> Scheme::alter_locked(AlterNode request) {
  CO_TRY(const NodePtr now, find_same(request.path, request.id));
  auto node = std::make_shared<PathNode>(*now);
  CO_TRY(node->record, make_record(request.record, request.tablets));
  keep_shared(request.deleted, *now, node.get());
  CO_TRY_VOID(check_deletions(request.deleted));
  note_change(*node);
  const NodePtr altered = std::move(node);
  CO_TRY_VOID(co_await store_nodes({altered}, request.tablets, std::move(request.deleted)));
  co_return altered;
}

Task<Result<NodePtr>> Scheme::alter_attributes_locked(AlterAttributes request) {
  CO_TRY(const NodePtr now, find_same(request.path, request.id));
  auto node = std::make_shared<PathNode>(*now);
  if (request.replace) node->attributes.clear();
  for (const auto& [name, value] : request.changes) {
    if (value) {
      node->attributes.insert_or_assign(name, owned(*value));
    } else {
      node->attributes.erase(name);
    }
  }
  CO_TRY_VOID(check_attributes(node->attributes));
  note_change(*node);
  const NodePtr altered = std::move(node);
  CO_TRY_VOID(co_await store_nodes({altered}, 0));
  co_return altered;
}

Task<Result<void>> Scheme::remove_locked(RemoveNode request) {
  CO_TRY(const NodePtr now, find_same(request.path, request.id));
  CO_TRY_VOID(state_.nodes().removable(request.path));
  keep_shared(request.deleted, *now, nullptr);
  CO_TRY_VOID(check_deletions(request.deleted));
  CO_TRY_VOID(check_locks(request.path, false));
  TreeEffects effects;
  effects.puts.emplace_back(NodePut{request.path, state_.nodes().find(request.path), nullptr});
  effects.deleted = std::move(request.deleted);
  co_return co_await commit(effects);
}

Result<void> Scheme::check_deletions(const std::vector<TabletInfo>& deleted) const {
  if (deleted.size() > kTabletsPerChangeMax) {
    return fail(Errc::kInvalidArgument, fmt::format("{} tablets in one change", deleted.size()));
  }
  if (deletions_.size() + deleted.size() > kPendingDeletionsMax) {
    return fail(Errc::kOverloaded,
                fmt::format("{} tablets are waiting for deletion", deletions_.size()));
  }
  return {};
}

// Tablets that another table has retired, too, are deleted with the last of them.
void Scheme::keep_shared(std::vector<TabletInfo>& deleted, const PathNode& before,
                         const PathNode* after) const {
  if (deleted.empty() || before.kind != NodeKind::kTable) return;
  const auto names = [](const PathNode& node, TabletId id) {
    const std::vector<TabletId> retired = retired_tablets(node);
    return std::ranges::find(retired, id) != retired.end() ? 1u : 0u;
  };
  std::erase_if(deleted, [&](const TabletInfo& info) {
    const std::size_t all = state_.retired_by(info.id);
    return all > names(before, info.id) || (after != nullptr && names(*after, info.id) > 0);
  });
}

void Scheme::add_deletions(const std::vector<TabletInfo>& deleted) {
  for (const TabletInfo& info : deleted) deletions_.emplace(info.id, info);
}

Result<NodePtr> Scheme::find_same(const std::string& path, const PathId& id) const {
  NodePtr node = state_.nodes().find(path);
  if (!node || node->id != id) return fail(Errc::kNotFound, fmt::format("no node '{}'", path));
  return node;
}

Result<Slice> Scheme::make_record(const RecordOf& record, std::uint32_t tablets) const {
  if (tablets > kTabletsPerChangeMax) {
    return fail(Errc::kInvalidArgument, fmt::format("{} tablets in one change", tablets));
  }
  Slice bytes = record ? record(next_tablet_) : Slice();
  if (bytes.size() > kRecordBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a record of {} bytes, more than {}", bytes.size(), kRecordBytesMax));
  }
  return bytes;
}

Task<Result<void>> Scheme::store_nodes(std::vector<NodePtr> nodes, std::uint32_t tablets,
                                       std::vector<TabletInfo> deleted) {
  TreeEffects effects;
  for (NodePtr& node : nodes) {
    const std::string path = node->path;
    effects.puts.emplace_back(NodePut{path, state_.nodes().find(path), std::move(node)});
  }
  effects.tablets = tablets;
  effects.deleted = std::move(deleted);
  co_return co_await commit(effects);
}

// Makes effects durable, then applies them.
Task<Result<void>> Scheme::commit(const TreeEffects& effects) {
  const TabletId next{next_tablet_.value + effects.tablets};
  std::map<std::string, std::optional<Slice>> items;
  for (const TreePutAny& put : effects.puts) {
    const bool mutation = std::holds_alternative<MutationPut>(put);
    if (mutation && has_bug(TreeBug::kAnswersNotDurable)) continue;
    auto [key, value] = tree_item(put);
    items.insert_or_assign(std::move(key), std::move(value));
  }
  std::vector<Command> commands;
  const std::set<std::string> erased = erased_prefixes(effects);
  for (const std::string& prefix : erased) {
    commands.push_back(DeleteKeys{KeyRange::prefix(prefix)});
  }
  for (auto& [key, value] : items) {
    if (value) {
      commands.push_back(WriteKey{key, std::move(*value), false});
    } else if (!has_prefix_in(erased, key)) {
      commands.push_back(delete_key(key));
    }
  }
  if (commands.size() > kTreeWritesMax) {
    co_return fail(Errc::kOverloaded,
                   fmt::format("The change affects {} nodes and locks, more than {}",
                               commands.size(), kTreeWritesMax));
  }
  if (effects.tablets > 0) {
    commands.push_back(WriteKey{std::string(kNextTabletKey), encode_next_tablet(next), false});
  }
  for (const TabletInfo& info : effects.deleted) {
    commands.push_back(WriteKey{deletion_key(info.id), encode_tablet(info), false});
  }
  const auto apply = [&] {
    for (const TreePutAny& put : effects.puts) state_.apply(put);
  };
  const bool early = has_bug(TreeBug::kShowUndurable);
  if (early) apply();
  CO_TRY_VOID(co_await tablet_->execute(std::move(commands)));
  next_tablet_ = next;
  add_deletions(effects.deleted);
  if (!early) apply();
  co_return Result<void>();
}

void Scheme::note_change(PathNode& node) const {
  node.modified_ms = static_cast<std::uint64_t>(world_.clock.since_epoch().count());
  node.revision = std::max(node.modified_ms * 1'000, state_.last_revision() + 1);
}

TreeEditContext Scheme::edit_context(std::string user) {
  const auto now_ms = static_cast<std::uint64_t>(world_.clock.since_epoch().count());
  return {now_ms, world_.random, next_tablet_, std::move(user)};
}

// The locks that creating or removing a node takes outside of transactions.
Result<void> Scheme::check_locks(const std::string& path, bool new_node) {
  if (state_.locks().empty()) return {};
  TreeEditor editor(state_, edit_context("root"), std::nullopt);
  const NodePtr parent = state_.find(parent_of(path));
  PathNode shown;
  shown.path = path;
  if (parent) {
    TRY_VOID(editor.take(*parent, {LockMode::kShared, key_of(shown), {}}));
  }
  const NodePtr node = state_.find(path);
  return new_node || !node ? Result<void>() : editor.take(*node, {LockMode::kExclusive, {}, {}});
}

Task<Result<TreeEffects>> Scheme::edit(std::optional<PathId> transaction, std::string user,
                                       Decide decide) {
  CO_TRY_VOID(co_await begin_change());
  auto edited = co_await edit_locked(transaction, std::move(user), std::move(decide));
  changes_.release();
  co_return edited;
}

Task<Result<TreeEffects>> Scheme::edit_locked(std::optional<PathId> transaction, std::string user,
                                              Decide decide) {
  TreeEffects effects;
  {
    if (transaction) {
      CO_TRY_VOID(TreeEditor::check_open(state_, *transaction));
    }
    TreeEditor editor(state_, edit_context(std::move(user)), transaction);
    CO_TRY_VOID(decide(editor));
    CO_TRY(effects, editor.finish());
  }
  CO_TRY_VOID(check_deletions(effects.deleted));
  if (effects.tablets > kTabletsPerChangeMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("{} tablets in one change", effects.tablets));
  }
  if (effects.puts.empty()) co_return effects;
  CO_TRY_VOID(co_await commit(effects));
  co_return effects;
}

std::vector<TabletInfo> Scheme::pending_deletions() const {
  std::vector<TabletInfo> infos;
  for (const auto& [id, info] : deletions_) infos.push_back(info);
  return infos;
}

Task<Result<void>> Scheme::forget_deleted(TabletId id) {
  std::vector<Command> commands;
  commands.push_back(delete_key(deletion_key(id)));
  CO_TRY_VOID(co_await tablet_->execute(std::move(commands)));
  deletions_.erase(id);
  co_return Result<void>();
}

}  // namespace moraine
