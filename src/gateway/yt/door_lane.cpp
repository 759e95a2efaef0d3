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

}  // namespace

YtResult<DoorLane*> DoorLane::lane_of(const PathId& transaction) const {
  const auto number = lane_of_transaction(transaction);
  if (!number || *number >= all_.size()) return no_sticky_transaction(transaction);
  return all_[*number].get();
}

TablePtr DoorLane::cached(const std::string& path) {
  const auto found = cache_.find(path);
  if (found == cache_.end()) return nullptr;
  const TablePtr& table = found->second;
  const EpochGuard guard;
  const OpenTable& open = table->holder->get();
  if (open.removed || table->is_altered(open) || open.dynamic != table->dynamic) return nullptr;
  return table;
}

YtResult<TablePtr> DoorLane::open(const std::string& path) {
  if (TablePtr table = cached(path)) return table;
  YT_TRY(client::Table opened, services_.tables.open(path));
  auto table = std::make_shared<const client::Table>(std::move(opened));
  if (cache_.size() >= kTablesCachedMax) cache_.clear();
  cache_[path] = table;
  return table;
}

Task<YtResult<TablePtr>> DoorLane::open_table(const Call& call, std::string path) {
  if (is_plain(path)) {
    const std::string direct = scheme_path(path);
    if (services_.tables.tables().holder(direct)) co_return open(direct);
  }
  YT_CO_TRY(const std::string found, co_await table_path(call, path, false));
  co_return open(found);
}

Task<YtResult<std::string>> table_path(const Call& call, std::string path, bool writes) {
  client::Tree* const tree = call.tree();
  if (tree == nullptr) co_return scheme_path(path);
  YT_CO_TRY(client::TreeScope scope, call.scope());
  // Transactions of rows are none of the tree.
  if (scope.transaction && lane_of_transaction(*scope.transaction)) scope.transaction.reset();
  scope.mutation.reset();
  YT_CO_TRY(const client::TreeNode node, co_await tree->resolve(std::move(scope), path, writes));
  if (node.type != "table") {
    co_return refuse(Code::kGeneric, fmt::format("Invalid type of {}: expected \"table\", actual "
                                                 "\"{}\"",
                                                 path, node.type));
  }
  co_return node.path;
}

}  // namespace moraine::yt
