#include "scheme/scheme.h"

#include <fmt/format.h>

#include "scheme/next_tablet.h"
#include "scheme/path.h"
#include "scheme/tablet_record.h"

namespace moraine {
namespace {

constexpr std::string_view kNodePrefix = "node/";
constexpr std::string_view kDeletionPrefix = "doomed/";
constexpr std::string_view kNextTabletKey = "next_tablet";
constexpr std::uint64_t kLoadedBytes = 8u << 20;  // At once.

std::string node_key(std::string_view path) {
  return fmt::format("{}{}", kNodePrefix, path);
}
std::string deletion_key(TabletId id) {
  return fmt::format("{}{:016x}", kDeletionPrefix, id.value);
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
  TRY(PathNode node, decode_node(value));
  if (key != node_key(node.path)) {
    return fail(Errc::kCorrupt, fmt::format("node '{}' under key '{}'", node.path, key));
  }
  return tree_.set(std::make_shared<const PathNode>(std::move(node)));
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
         tree_.missing_parents(request.path, request.parents));
  CO_TRY_VOID(check_attributes(request.attributes));
  CO_TRY(const Slice record, make_record(request.record, request.tablets));
  const auto now_ms = static_cast<std::uint64_t>(world_.clock.since_epoch().count());
  std::vector<NodePtr> nodes;
  const auto make = [&](NodeKind kind, const std::string& path) {
    auto node = std::make_shared<PathNode>();
    node->kind = kind;
    node->path = path;
    node->id = new_path_id(world_.random);
    node->created_ms = now_ms;
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
  CO_TRY_VOID(check_deletions(request.deleted));
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
  const NodePtr altered = std::move(node);
  CO_TRY_VOID(co_await store_nodes({altered}, 0));
  co_return altered;
}

Task<Result<void>> Scheme::remove_locked(RemoveNode request) {
  CO_TRY_VOID(find_same(request.path, request.id));
  CO_TRY_VOID(tree_.removable(request.path));
  CO_TRY_VOID(check_deletions(request.deleted));
  std::vector<Command> commands;
  commands.push_back(delete_key(node_key(request.path)));
  for (const TabletInfo& info : request.deleted) {
    commands.push_back(WriteKey{deletion_key(info.id), encode_tablet(info), false});
  }
  CO_TRY_VOID(co_await tablet_->execute(std::move(commands)));
  tree_.erase(request.path);
  add_deletions(std::move(request.deleted));
  co_return Result<void>();
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

void Scheme::add_deletions(std::vector<TabletInfo> deleted) {
  for (TabletInfo& info : deleted) {
    const TabletId id = info.id;
    deletions_.emplace(id, std::move(info));
  }
}

Result<NodePtr> Scheme::find_same(const std::string& path, const PathId& id) const {
  NodePtr node = tree_.find(path);
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
  const TabletId next{next_tablet_.value + tablets};
  std::vector<Command> commands;
  for (const NodePtr& node : nodes) {
    commands.push_back(WriteKey{node_key(node->path), encode_node(*node), false});
  }
  if (tablets > 0) {
    commands.push_back(WriteKey{std::string(kNextTabletKey), encode_next_tablet(next), false});
  }
  for (const TabletInfo& info : deleted) {
    commands.push_back(WriteKey{deletion_key(info.id), encode_tablet(info), false});
  }
  CO_TRY_VOID(co_await tablet_->execute(std::move(commands)));
  next_tablet_ = next;
  add_deletions(std::move(deleted));
  for (NodePtr& node : nodes) {
    const auto set = tree_.set(std::move(node));
    INVARIANT(set, "the tree has changed under a change: {}", set.error().message());
  }
  co_return Result<void>();
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
