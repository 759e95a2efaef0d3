#include "node/tree_system.h"

#include <algorithm>

#include "client/table_attributes.h"
#include "node/tree_attributes.h"
#include "scheme/object_id.h"
#include "scheme/table_record.h"

namespace moraine {
namespace {

YsonNode object(YsonMap attributes) {
  YsonNode node;
  node.mutable_attributes() = std::move(attributes);
  return node;
}

// Of tables that are mounted, kSystemItemsMax at most.
YsonNode running_tablets(const TreeState& state) {
  YsonList ids;
  for (const NodePtr& node : state.nodes().all(NodeKind::kTable)) {
    if (ids.size() >= kSystemItemsMax) break;
    const auto table = decode_table(*node);
    if (!table || !table->dynamic) continue;
    for (const TabletOfTable& tablet : table->tablets) {
      if (tablet.state == MountState::kUnmounted) continue;
      ids.emplace_back(to_text(client::tablet_object_id(tablet.info.id)));
    }
  }
  return ids;
}

YsonMap cell_attributes(const TreeState& state) {
  YsonMap status;
  status.set("health", "good");
  YsonMap shown;
  shown.set("id", to_text(client::tablet_cell_id()));
  shown.set("type", "tablet_cell");
  shown.set("health", "good");
  shown.set("local_health", "good");
  shown.set("status", std::move(status));
  shown.set("tablet_cell_bundle", "default");
  shown.set("peers", YsonList());
  shown.set("tablet_ids", running_tablets(state));
  return shown;
}

YsonNode named(std::string_view type, std::initializer_list<std::string_view> names) {
  YsonMap map;
  for (const std::string_view name : names) {
    YsonMap attributes;
    attributes.set("type", type);
    attributes.set("name", name);
    if (type == "tablet_cell_bundle") attributes.set("health", "good");
    if (type == "user") attributes.set("banned", false);
    map.set(std::string(name), object(std::move(attributes)));
  }
  return map;
}

YsonNode transactions(const TreeState& state, const LastPing& last_ping, bool topmost,
                      const std::optional<std::string>& item) {
  YsonMap map;
  const auto add = [&](const TreeTransaction& one) {
    if (topmost && one.parent) return;
    map.set(to_text(one.id), object(transaction_attributes(state, one, last_ping(one.id))));
  };
  if (item) {
    const auto id = parse_object_id(*item);
    const TransactionPtr known = id ? state.transaction(*id) : nullptr;
    if (known) add(*known);
    return map;
  }
  for (const auto& [id, one] : state.transactions()) {
    if (map.size() >= kSystemItemsMax) break;
    add(*one);
  }
  YsonNode shown(std::move(map));
  const auto count = static_cast<std::int64_t>(state.transactions().size());
  shown.mutable_attributes().set("count", count);
  if (state.transactions().size() > kSystemItemsMax) {
    shown.mutable_attributes().set("incomplete", true);
  }
  return shown;
}

YsonNode locks(const TreeState& state, const std::optional<std::string>& item) {
  YsonMap map;
  const auto id = item ? parse_object_id(*item) : Result<PathId>(kNullObjectId);
  for (const auto& [one, lock] : state.locks()) {
    if (map.size() >= kSystemItemsMax) break;
    if (!item || (id && one == *id)) map.set(to_text(one), object(lock_attributes(*lock)));
  }
  return map;
}

constexpr std::string_view kEmptyMaps[] = {
    "operations",  "cluster_nodes", "tablet_nodes", "data_nodes", "http_proxies",
    "rpc_proxies", "pools",         "pool_trees",   "chunks",     "primary_masters",
};

}  // namespace

std::vector<std::string> system_names() {
  std::vector<std::string> names = {"accounts",
                                    "groups",
                                    "locks",
                                    "media",
                                    "tablet_cell_bundles",
                                    "tablet_cells",
                                    "topmost_transactions",
                                    "transactions",
                                    "users"};
  names.insert(names.end(), std::begin(kEmptyMaps), std::end(kEmptyMaps));
  std::ranges::sort(names);
  return names;
}

std::optional<YsonNode> system_value(const TreeState& state, const LastPing& last_ping,
                                     std::string_view name,
                                     const std::optional<std::string>& item) {
  if (name == "transactions") return transactions(state, last_ping, false, item);
  if (name == "topmost_transactions") return transactions(state, last_ping, true, item);
  if (name == "locks") return locks(state, item);
  if (name == "accounts") return named("account", {"default", "sys", "tmp"});
  if (name == "users") return named("user", {"root"});
  if (name == "groups") return named("group", {"everyone", "superusers", "users"});
  if (name == "media") return named("medium", {"default"});
  if (name == "tablet_cell_bundles") return named("tablet_cell_bundle", {"default"});
  if (name == "tablet_cells") {
    YsonMap cells;
    cells.set(to_text(client::tablet_cell_id()), object(cell_attributes(state)));
    return cells;
  }
  if (std::ranges::find(kEmptyMaps, name) != std::end(kEmptyMaps)) return YsonMap();
  return std::nullopt;
}

std::optional<YsonMap> object_attributes(const TreeState& state, const LastPing& last_ping,
                                         const PathId& id) {
  if (const TransactionPtr known = state.transaction(id)) {
    return transaction_attributes(state, *known, last_ping(id));
  }
  if (const LockPtr known = state.lock(id)) return lock_attributes(*known);
  if (id == client::tablet_cell_id()) return cell_attributes(state);
  return std::nullopt;
}

}  // namespace moraine
