#include "node/stored_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "base/log.h"
#include "scheme/path.h"
#include "table/tablet/seeded_bug.h"

namespace moraine {

StoredTables::StoredTables(World world, SchemeHost& scheme,
                           std::vector<table::TableResources*> lanes, LocalTablets& tablets,
                           table::AskCoordinator ask_coordinator, StoredTablesOptions options)
    : world_(world),
      scheme_(scheme),
      options_(std::move(options)),
      parts_{world,
             std::move(lanes),
             tablets,
             std::move(ask_coordinator),
             scheme.tablets(),
             options_.leader,
             turns_,
             unmounted_} {
  INVARIANT(!options_.groups.empty(), "tables need groups");
  scheme_.add_follower([this](const Scheme& tree) { follow(tree); });
  tablets.set_deleted_check([this](TabletId id) { return is_deleted(id); });
}

std::optional<Error> StoredTables::boot_error() const {
  const TabletsReport report = scheme_.tablets().report(NodeKind::kTable);
  return report.errors.empty() ? std::nullopt : std::optional(report.errors.front());
}

Task<void> StoredTables::stop() {
  abandon();
  co_await unmounted_.stop();
  co_await scope_.join();
  for (const TablePtr& table : list()) publish_holder(table->path(), nullptr);
  tables_.clear();
  by_id_.clear();
}

void StoredTables::abandon() {
  knows_all_ = false;
  scope_.close();
  unmounted_.abandon();
}

Task<Result<std::vector<table::TabletStatistics>>> StoredTables::figures(std::string path) {
  TablePtr table = find(path);
  const auto known = [](const TablePtr& one) {
    for (std::size_t i = 0; one && i < one->record().tablets.size(); ++i) {
      const bool stopped = one->record().tablets[i].state == MountState::kUnmounted;
      if (stopped && !one->has_figures(i)) return false;
    }
    return true;
  };
  Result<void> learnt;
  if (!known(table)) {
    learnt = co_await change(path, [](TablePtr one) { return one->load_statistics(); });
    table = find(path);
  }
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  std::vector<table::TabletStatistics> all;
  for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
    auto figures = co_await table->figures(i);
    all.push_back(figures ? std::move(*figures) : table::TabletStatistics());
    if (!figures && !learnt) all.back().error = learnt.error().message();
  }
  co_return all;
}

Task<Result<TableDescription>> StoredTables::describe(std::string path) {
  CO_TRY(std::vector<table::TabletStatistics> statistics, co_await figures(path));
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  co_return TableDescription{table->record(), table->holder()->hold(), std::move(statistics)};
}

Task<Result<TableDescription>> StoredTables::inspect(std::string path) {
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  co_return TableDescription{table->record(), table->holder()->hold(), {}};
}

// The time first: what is committed later is above it. Where versions of before the oldest row in
// memory may be gone, some rows in memory are read, too.
Task<Result<Timestamp>> StoredTables::flushed_before(std::string path) {
  Timestamp retained = 0;
  CO_TRY(Timestamp before, co_await parts_.lanes.front()->timestamps.next());
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  if (!table->record().dynamic) co_return before;
  for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
    const TabletOfTable& tablet = table->record().tablets[i];
    if (tablet.state == MountState::kUnmounted) continue;
    const auto running = table->calls(i);
    if (!running) {
      co_return fail(Errc::kNotHere, fmt::format("tablet {} of {} is not running here",
                                                 tablet.info.id.value, table->shown_path()));
    }
    const table::TableTablet::Flushed flushed =
        co_await running->get([](table::TableTablet& one) { return one.flushed(); });
    before = std::min(before, flushed.before);
    retained = std::max(retained, flushed.retained);
  }
  co_return std::max(before, retained + 1);
}

Task<Result<StoredTables::TabletPtr>> StoredTables::open_unmounted(std::string path,
                                                                   TabletId tablet) {
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  co_return co_await table->open_unmounted(tablet);
}

StoredTables::TablePtr StoredTables::find(const std::string& path) const {
  const auto found = tables_.find(path);
  return found == tables_.end() ? nullptr : found->second;
}

std::vector<StoredTables::TablePtr> StoredTables::list() const {
  std::vector<TablePtr> all;
  for (const auto& [path, table] : tables_) all.push_back(table);
  return all;
}

std::shared_ptr<TableHolder> StoredTables::holder(const std::string& path) const {
  const std::lock_guard lock(holders_mutex_);
  const auto found = holders_.find(path);
  return found == holders_.end() ? nullptr : found->second;
}

std::vector<std::string> StoredTables::paths() const {
  std::vector<std::string> all;
  const std::lock_guard lock(holders_mutex_);
  for (const auto& [path, holder] : holders_) {
    if (!is_hidden(path)) all.push_back(path);
  }
  return all;
}

void StoredTables::publish_holder(const std::string& path, std::shared_ptr<TableHolder> holder) {
  const std::lock_guard lock(holders_mutex_);
  if (holder) {
    holders_[path].swap(holder);
  } else {
    const auto found = holders_.find(path);
    if (found == holders_.end()) return;
    holder = std::move(found->second);  // Destroyed after the lock is released.
    holders_.erase(found);
  }
}

void StoredTables::follow(const Scheme& scheme) {
  if (scope_.closed()) return;
  knows_all_ = follow_nodes(
      scheme, NodeKind::kTable, tables_, [this](const PathNode& node) { return adopt(node); },
      [this](const TablePtr& table) { drop(table); });
  for (const auto& [path, table] : tables_) scope_.spawn(finish_transitions(path));
  if (!std::exchange(watching_, true)) scope_.spawn(release_retired());
}

// A tablet of no table was deleted, or replaced when it had nothing prepared.
bool StoredTables::is_deleted(TabletId id) const {
  if (!knows_all_) return false;
  for (const auto& [path, table] : tables_) {
    for (const TabletOfTable& tablet : table->record().tablets) {
      if (tablet.info.id == id) return false;
    }
  }
  return true;
}

Result<StoredTables::TablePtr> StoredTables::adopt(const PathNode& node) {
  TRY(TableRecord record, decode_table(node));
  const auto known = tables_.find(node.path);
  if (known != tables_.end() && known->second->id() == node.id) {
    known->second->update(std::move(record));
    return known->second;
  }
  if (known != tables_.end()) {
    const TablePtr older = known->second;
    drop(older);
  }
  if (const auto moved = by_id_.find(node.id); moved != by_id_.end()) {
    const TablePtr table = moved->second;
    rename(table, node.path);
    table->update(std::move(record));
    return table;
  }
  auto table = std::make_shared<RunningTable>(parts_, node.path, node.id, record);
  tables_[node.path] = table;
  by_id_[node.id] = table;
  table->update(std::move(record));
  publish_holder(node.path, table->holder());
  return table;
}

void StoredTables::rename(const TablePtr& table, const std::string& path) {
  tables_.erase(table->path());
  publish_holder(table->path(), nullptr);
  table->rename(path);
  tables_[path] = table;
  publish_holder(path, table->holder());
}

void StoredTables::follow(const TreeEffects& effects) {
  std::map<PathId, NodePtr> now;  // Of the tables that were changed; null: gone.
  for (const TreePutAny& put : effects.puts) {
    const auto* node = std::get_if<NodePut>(&put);
    if (node == nullptr) continue;
    if (node->before && node->before->kind == NodeKind::kTable) {
      now.try_emplace(node->before->id, nullptr);
      const NodePtr& known = now[node->before->id];
      if (known && known->path == node->key) now[node->before->id] = nullptr;
    }
    if (node->after && node->after->kind == NodeKind::kTable) now[node->after->id] = node->after;
  }
  for (const auto& [id, node] : now) {
    const auto known = by_id_.find(id);
    if (!node && known != by_id_.end()) drop(TablePtr(known->second));
  }
  for (const auto& [id, node] : now) {
    if (!node) continue;
    if (const auto adopted = adopt(*node); !adopted) {
      log_error("table not served", {{"path", node->path}, {"error", adopted.error()}});
    }
  }
}

void StoredTables::drop(const TablePtr& table) {
  tables_.erase(table->path());
  by_id_.erase(table->id());
  publish_holder(table->path(), nullptr);
  table->remove();
  for (const TabletOfTable& tablet : table->record().tablets) {
    scheme_.begin_deletion(tablet.info);
  }
}

// Continues transitions of tablets that were unfinished when the node stopped.
Task<void> StoredTables::finish_transitions(std::string path) {
  const TablePtr table = find(path);
  if (!table) co_return;
  const auto moves = [](const TabletOfTable& tablet) {
    return tablet.state == MountState::kUnmounting || tablet.state == MountState::kFreezing;
  };
  if (std::ranges::none_of(table->record().tablets, moves)) co_return;
  const auto done =
      co_await change(path, [this](TablePtr one) { return finish_transitions_locked(one); });
  if (!done) log_warning("table stays in transition", {{"table", path}, {"error", done.error()}});
}

Task<void> StoredTables::release_retired() {
  while (!scope_.closed()) {
    co_await sleep_for(world_.executor, kRetiredPeriod, scope_);
    for (const TablePtr& table : list()) {
      if (scope_.closed()) co_return;
      if (table->record().retired.empty()) continue;
      const auto done = co_await change(
          table->path(), [this](TablePtr one) { return release_retired_locked(one); });
      if (!done) {
        log_debug("retired tablets kept", {{"table", table->path()}, {"error", done.error()}});
      }
    }
  }
}

Task<Result<void>> StoredTables::release_retired_locked(TablePtr table) {
  TableRecord record = table->record();
  std::set<TabletId> needed;
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    const auto running = table->calls(i);
    if (!running) co_return Result<void>();
    const auto borrowed =
        co_await running->get([](table::TableTablet& tablet) { return tablet.borrowed_from(); });
    if (!has_bug(table::SeededBug::kRetiredTooEarly)) {
      needed.insert(borrowed.begin(), borrowed.end());
    }
    // A running tablet has taken over its parents' chunks.
    record.tablets[i].parents.clear();
  }
  std::vector<TabletInfo> deleted;
  for (const TabletInfo& info : record.retired) {
    if (!needed.contains(info.id)) deleted.push_back(info);
  }
  if (deleted.empty()) co_return Result<void>();
  std::erase_if(record.retired, [&](const TabletInfo& info) { return !needed.contains(info.id); });
  CO_TRY_VOID(co_await store(table, std::move(record), 0, nullptr, deleted));
  for (const TabletInfo& info : deleted) scheme_.begin_deletion(info);
  co_return Result<void>();
}

TabletInfo StoredTables::place(TabletId id, std::size_t turn) const {
  return TabletInfo::simple(id, options_.groups[turn % options_.groups.size()],
                            kTableTabletChannels);
}

}  // namespace moraine
