#include "gateway/yt/door_lane.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/epoch.h"
#include "gateway/yt/call.h"

namespace moraine::yt {
namespace {

// Nothing in it is an escape, an attribute or an object id: it is the path of the scheme.
bool is_plain(std::string_view path) {
  return path.starts_with("//") && std::ranges::all_of(path, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.' || c == '/';
         });
}

Task<Result<client::TreeNode>> table_at(client::Tree* tree, client::TreeScope scope,
                                        std::string path, bool writes) {
  if (tree == nullptr) {
    co_return client::TreeNode{.id = {}, .type = "table", .path = scheme_path(path)};
  }
  CO_TRY(client::TreeNode node, co_await tree->resolve(std::move(scope), path, writes));
  if (node.type != "table") {
    co_return fail(
        Errc::kInvalidArgument,
        fmt::format("Invalid type of {}: expected \"table\", actual \"{}\"", path, node.type));
  }
  co_return node;
}

}  // namespace

YtResult<DoorLane*> DoorLane::lane_of(const PathId& transaction) const {
  const auto number = lane_of_transaction(transaction);
  if (!number || *number >= all_.size()) return no_sticky_transaction(transaction);
  return all_[*number].get();
}

TablePtr DoorLane::cached(const std::string& path) {
  const auto found = cache_.find(path);
  if (found == cache_.end()) return nullptr;
  const TablePtr& table = found->second.table;
  const EpochGuard guard;
  const OpenTable& open = table->holder->get();
  if (open.removed || table->is_altered(open) || open.dynamic != table->dynamic) return nullptr;
  return table;
}

Result<TablePtr> DoorLane::open(const std::string& path) {
  if (TablePtr table = cached(path)) return table;
  const bool is_id = path.starts_with('#');
  TRY(client::Table opened, services_.tables.open(is_id ? path : "//" + path));
  auto table = std::make_shared<const client::Table>(std::move(opened));
  if (cache_.size() >= kTablesCachedMax) cache_.clear();
  cache_[path].table = table;
  return table;
}

bool DoorLane::is_access_due(const std::string& path) const {
  if (services_.tree == nullptr) return false;
  const auto found = cache_.find(path);
  if (found == cache_.end()) return true;
  return world_.executor.now() - found->second.accessed >=
         std::chrono::milliseconds(kAccessPauseMs);
}

Task<Result<TablePtr>> DoorLane::open_table(client::TreeScope scope, std::string path) {
  if (is_plain(path)) {
    const std::string direct = scheme_path(path);
    if (services_.tables.tables().holder(direct)) {
      if (!is_access_due(direct)) co_return open(direct);
      // The table is here; whether the tree can be read now does not matter.
      std::ignore = co_await table_at(services_.tree, std::move(scope), std::move(path), false);
      CO_TRY(TablePtr table, open(direct));
      cache_[direct].accessed = world_.executor.now();
      co_return table;
    }
  }
  CO_TRY(const client::TreeNode found,
         co_await table_at(services_.tree, std::move(scope), std::move(path), false));
  co_return open(found.path);
}

Task<YtResult<TablePtr>> DoorLane::open_table(const Call& call, std::string path) {
  YT_CO_TRY(client::TreeScope scope, table_scope(call));
  YT_CO_TRY(TablePtr table, co_await open_table(std::move(scope), std::move(path)));
  co_return table;
}

YtResult<client::TreeScope> table_scope(const Call& call) {
  YT_TRY(client::TreeScope scope, call.scope());
  if (scope.transaction && lane_of_transaction(*scope.transaction)) scope.transaction.reset();
  scope.mutation.reset();
  return scope;
}

Task<YtResult<client::TreeNode>> table_node(const Call& call, std::string path, bool writes) {
  YT_CO_TRY(client::TreeScope scope, table_scope(call));
  YT_CO_TRY(client::TreeNode node,
            co_await table_at(call.tree(), std::move(scope), std::move(path), writes));
  co_return node;
}

Task<YtResult<std::string>> table_path(const Call& call, std::string path, bool writes) {
  YT_CO_TRY(client::TreeNode node, co_await table_node(call, std::move(path), writes));
  co_return std::move(node.path);
}

}  // namespace moraine::yt
