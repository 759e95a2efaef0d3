// Changes of tables: decided, made durable in the scheme, then applied.

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "node/stored_tables.h"
#include "table/model/ordered.h"
#include "table/model/schema_check.h"

namespace moraine {
namespace {

Result<void> check_kept(const TableRecord& record) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : record.kept) bytes += name.size() + value.size();
  if (record.kept.size() <= kKeptAttributesMax && bytes <= kKeptBytesMax) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} attributes of {} bytes: at most {} and {} bytes are kept",
                          record.kept.size(), bytes, kKeptAttributesMax, kKeptBytesMax));
}

Result<void> check_record(const std::string& path, const TableRecord& record) {
  TRY_VOID(table::check_schema(record.schema, kind_of(record)));
  if (!record.dynamic && record.tablets.size() > 1) {
    return fail(Errc::kInvalidArgument, "a static table has no pivot keys");
  }
  for (std::size_t i = 0; kind_of(record) == table::TableKind::kOrdered; ++i) {
    if (i == record.tablets.size()) break;
    if (record.tablets[i].pivot == table::tablet_pivot(i)) continue;
    return fail(Errc::kInvalidArgument,
                "Pivot keys of an ordered table are the indexes of its tablets");
  }
  TRY_VOID(tablet_settings(path, record, 0));
  return {};
}

}  // namespace

// For the later part of a change: "nothing was done" is no longer true of the whole.
Result<void> of_partial_change(Result<void> done) {
  const bool nothing =
      !done && (done.error().code == Errc::kNotHere || done.error().code == Errc::kOverloaded);
  if (nothing) done.error().code = Errc::kUnknownOutcome;
  return with_outcome(std::move(done));
}

Result<void> check_pivots(const std::vector<std::string>& pivots) {
  if (pivots.size() + 1 > kTabletsPerTableMax) {
    return fail(Errc::kInvalidArgument, fmt::format("{} tablets; a table has at most {}",
                                                    pivots.size() + 1, kTabletsPerTableMax));
  }
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    if (pivots[i].empty() || (i > 0 && pivots[i - 1] >= pivots[i])) {
      return fail(Errc::kInvalidArgument, "Pivot keys must be strictly increasing");
    }
  }
  return {};
}

Result<void> check_unmounted(const RunningTable& table, std::string_view what) {
  for (const TabletOfTable& tablet : table.record().tablets) {
    if (tablet.state == MountState::kUnmounted) continue;
    return fail(Errc::kReadOnly, fmt::format("Cannot {} since not all tablets are unmounted: "
                                             "tablet {} of {} is {}",
                                             what, tablet.info.id.value, table.shown_path(),
                                             to_string(tablet.state)));
  }
  return {};
}

Task<Result<void>> StoredTables::change(std::string path, Change body) {
  const auto on_table = [&]() -> Task<Result<void>> {
    const TablePtr table = find(path);
    if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
    Result<void> done = co_await body(table);
    // Another incarnation of a tablet has taken over, and nothing was changed here.
    if (!done && done.error().code == Errc::kConflict) done.error().code = Errc::kUnavailable;
    co_return done;
  };
  co_return co_await changes_.run(on_table);
}

Task<Result<void>> StoredTables::store(TablePtr table, TableRecord record, std::uint32_t tablets,
                                       Fill fill, std::vector<TabletInfo> deleted) {
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  AlterNode request;
  request.path = table->path();
  request.id = table->id();
  request.tablets = tablets;
  request.deleted = std::move(deleted);
  request.record = [record = std::move(record), fill = std::move(fill)](TabletId first) {
    TableRecord filled = record;
    if (fill) fill(filled, first);
    return encode_table(filled);
  };
  CO_TRY(const NodePtr node, with_outcome(co_await tree->alter(std::move(request))));
  CO_TRY_VOID(adopt(*node));
  co_return Result<void>();
}

Task<Result<void>> StoredTables::create(std::string path, NewTable table) {
  const auto made = [&] { return create_locked(std::move(path), std::move(table)); };
  co_return co_await changes_.run(made);
}

Result<StoredTables::Planned> StoredTables::plan(const std::string& path, NewTable table) const {
  TRY_VOID(check_pivots(table.pivots));
  if (table.state != MountState::kUnmounted) {
    TRY_VOID(check_mountable(table.state));
  }
  TableRecord record;
  record.dynamic = table.dynamic;
  record.schema = std::move(table.schema);
  record.options = std::move(table.options);
  record.kept = std::move(table.kept);
  TRY_VOID(check_kept(record));
  const MountState state = record.dynamic ? table.state : MountState::kFrozen;
  record.tablets.resize(table.pivots.size() + 1);
  for (std::size_t i = 0; i < table.pivots.size(); ++i) {
    record.tablets[i + 1].pivot = table.pivots[i];
  }
  apply_options(record, now_ms());
  TRY_VOID(check_record(path, record));
  for (TabletOfTable& tablet : record.tablets) tablet.state = state;
  Planned planned;
  planned.tablets = static_cast<std::uint32_t>(record.tablets.size());
  planned.state = state;
  planned.record = [record, this](TabletId first) {
    TableRecord placed = record;
    for (std::size_t i = 0; i < placed.tablets.size(); ++i) {
      placed.tablets[i].info = place(TabletId{first.value + i}, i);
    }
    return encode_table(placed);
  };
  return planned;
}

Task<Result<void>> StoredTables::create_locked(std::string path, NewTable table) {
  CO_TRY(Planned planned, plan(path, std::move(table)));
  if (find(path)) co_return fail(Errc::kAlreadyExists, fmt::format("/{} is a table", path));
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  CreateNode request;
  request.kind = NodeKind::kTable;
  request.path = path;
  request.parents = true;
  request.tablets = planned.tablets;
  request.record = std::move(planned.record);
  CO_TRY(const NodePtr node, with_outcome(co_await tree->create(std::move(request))));
  CO_TRY(const TablePtr made, adopt(*node));
  if (planned.state == MountState::kUnmounted) co_return Result<void>();
  co_return of_partial_change(co_await mount_locked(made, planned.state, {}));
}

Task<Result<void>> StoredTables::remove(std::string path) {
  return change(std::move(path), [this](TablePtr table) { return remove_locked(table); });
}

Task<Result<void>> StoredTables::remove_locked(TablePtr table) {
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  RemoveNode request;
  request.path = table->path();
  request.id = table->id();
  for (const TabletOfTable& tablet : table->record().tablets)
    request.deleted.push_back(tablet.info);
  for (const TabletInfo& info : table->record().retired) request.deleted.push_back(info);
  const std::vector<TabletInfo> retired = table->record().retired;
  CO_TRY_VOID(with_outcome(co_await tree->remove(std::move(request))));
  // Unless the scheme has restarted meanwhile and follow() has done it.
  if (find(table->path()) == table) drop(table);
  for (const TabletInfo& info : retired) scheme_.begin_deletion(info);
  co_return Result<void>();
}

Task<Result<void>> StoredTables::remove_directory(std::string path) {
  const auto removed = [&] { return remove_directory_locked(path); };
  co_return co_await changes_.run(removed);
}

Task<Result<void>> StoredTables::remove_directory_locked(std::string path) {
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  const NodePtr node = tree->find(path);
  if (!node) co_return fail(Errc::kNotFound, fmt::format("no directory /{}", path));
  if (node->kind != NodeKind::kDirectory) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("/{} is a {}, not a directory", path, to_string(node->kind)));
  }
  CO_TRY(const std::vector<NodePtr> held, tree->list(path));
  if (!held.empty()) {
    co_return fail(Errc::kConflict, fmt::format("directory /{} is not empty: there is /{}", path,
                                                held.front()->path));
  }
  RemoveNode request;
  request.path = std::move(path);
  request.id = node->id;
  co_return with_outcome(co_await tree->remove(std::move(request)));
}

Task<Result<void>> StoredTables::alter(std::string path, TableSchema schema) {
  return change(std::move(path),
                [this, schema](TablePtr table) { return replace_schema(table, schema); });
}

Task<Result<void>> StoredTables::replace_schema(TablePtr table, TableSchema schema) {
  if (!table->record().dynamic) co_return co_await replace_static_schema(table, std::move(schema));
  CO_TRY_VOID(check_unmounted(*table, "change table schema"));
  TableRecord record = table->record();
  CO_TRY_VOID(table::check_alter(record.schema, schema, kind_of(record)));
  record.schema = std::move(schema);
  CO_TRY_VOID(tablet_settings(table->path(), record, 0));
  co_return co_await store(table, std::move(record));
}

std::uint64_t StoredTables::now_ms() const {
  return static_cast<std::uint64_t>(world_.clock.since_epoch().count());
}

Result<TableRecord> StoredTables::with_options(const RunningTable& table,
                                               TableOptions options) const {
  TableRecord record = table.record();
  if (options.in_memory_mode != record.options.in_memory_mode) {
    TRY_VOID(check_unmounted(table, "change table memory mode"));
  }
  if (options.atomicity != record.options.atomicity) {
    TRY_VOID(check_unmounted(table, "change table atomicity mode"));
  }
  if (options.mount.forced_compaction_revision == 0) {
    options.mount.forced_compaction_revision = record.options.mount.forced_compaction_revision;
  } else {
    // Later than the previous one, whatever the clock says: each setting is a new command.
    std::uint64_t before = record.forced_compaction_ms;
    for (const TabletOfTable& tablet : record.tablets) {
      if (tablet.applied) before = std::max(before, tablet.applied->forced_compaction_ms);
    }
    record.forced_compaction_ms = std::max(now_ms(), before + 1);
  }
  record.options = std::move(options);
  return record;
}

Result<void> StoredTables::check_mount(const RunningTable& table, TableRecord record) const {
  apply_options(record, now_ms());
  TRY_VOID(tablet_settings(table.path(), record, 0));
  return {};
}

Task<Result<void>> StoredTables::set_options(std::string path, TableOptions options) {
  return change(std::move(path),
                [this, options](TablePtr table) { return replace_options(table, options); });
}

Task<Result<void>> StoredTables::replace_options(TablePtr table, TableOptions options) {
  CO_TRY_VOID(check_dynamic(*table, "change its options"));
  CO_TRY(TableRecord record, with_options(*table, std::move(options)));
  CO_TRY_VOID(check_mount(*table, record));
  co_return co_await store(table, std::move(record));
}

Task<Result<void>> StoredTables::set_attributes(std::string path,
                                                std::map<std::string, std::string> named) {
  return change(std::move(path),
                [this, named](TablePtr table) { return replace_attributes(table, named); });
}

Task<Result<void>> StoredTables::replace_attributes(TablePtr table,
                                                    std::map<std::string, std::string> named) {
  TableOptions options = table->record().options;
  options.mount.forced_compaction_revision = 0;  // Unless it is among the named ones.
  CO_TRY_VOID(moraine::set_attributes(options, named));
  co_return co_await replace_options(table, std::move(options));
}

Task<Result<void>> StoredTables::change_attributes(std::string path,
                                                   TableAttributeChanges changes) {
  return change(std::move(path),
                [this, changes](TablePtr table) { return change_kept(table, changes); });
}

// Options that contradict each other fail at the next mount or remount only.
Task<Result<void>> StoredTables::change_kept(TablePtr table, TableAttributeChanges changes) {
  TableOptions options = table->record().options;
  options.mount.forced_compaction_revision = 0;  // Unless it is among the named ones.
  CO_TRY_VOID(moraine::set_attributes(options, changes.options));
  CO_TRY(TableRecord record, with_options(*table, std::move(options)));
  for (auto& [name, value] : changes.kept) {
    if (value) {
      record.kept[name] = std::move(*value);
    } else {
      record.kept.erase(name);
    }
  }
  CO_TRY_VOID(check_kept(record));
  if (!record.dynamic) {  // It is not mounted.
    CO_TRY_VOID(check_mount(*table, record));
    apply_options(record, now_ms());
  }
  co_return co_await store(table, std::move(record));
}

Result<void> check_dynamic(const RunningTable& table, std::string_view what) {
  if (table.record().dynamic) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is a static table and cannot {}; make it dynamic first",
                          table.shown_path(), what));
}

Task<Result<void>> StoredTables::make_dynamic(std::string path) {
  return change(std::move(path), [this](TablePtr table) { return make_dynamic_locked(table); });
}

// The tablet keeps its chunks.
Task<Result<void>> StoredTables::make_dynamic_locked(TablePtr table) {
  TableRecord record = table->record();
  if (record.dynamic) co_return Result<void>();
  CO_TRY_VOID(table::check_schema(record.schema, table::TableKind::kSorted));
  record.dynamic = true;
  for (TabletOfTable& tablet : record.tablets) tablet.state = MountState::kMounted;
  apply_options(record, now_ms());
  CO_TRY_VOID(tablet_settings(table->path(), record, 0));
  CO_TRY_VOID(co_await store(table, record));
  if (!co_await table->wait_tablet(0, soon())) {
    co_return fail(Errc::kTimeout, fmt::format("{} is not running yet", table->shown_path()));
  }
  co_return Result<void>();
}

}  // namespace moraine
