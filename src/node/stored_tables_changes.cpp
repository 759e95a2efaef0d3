// Changes of tables: decided, made durable in the scheme, then applied.

#include <fmt/format.h>

#include <algorithm>

#include "node/stored_tables.h"
#include "table/model/schema_check.h"

namespace moraine {
namespace {

// Another incarnation of the scheme has taken over: the caller gets kUnavailable.
Result<void> unless_superseded(Result<void> done) {
  if (!done && done.error().code == Errc::kConflict) done.error().code = Errc::kUnavailable;
  return done;
}

// For the later part of a change: "nothing was done" is no longer true of the whole.
Result<void> of_partial_change(Result<void> done) {
  if (!done && done.error().code == Errc::kNotHere) done.error().code = Errc::kUnavailable;
  return done;
}

Result<void> check_mountable(MountState state) {
  if (state == MountState::kMounted || state == MountState::kFrozen) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("a table cannot be mounted as \"{}\"", to_string(state)));
}

Result<void> check_record(const std::string& path, const TableRecord& record) {
  const auto kind = record.dynamic ? table::TableKind::kSorted : table::TableKind::kStatic;
  TRY_VOID(table::check_schema(record.schema, kind));
  if (!record.schema.strict) {
    return fail(Errc::kUnsupported, "tables without a strict schema are not supported");
  }
  if (!record.dynamic && record.tablets.size() > 1) {
    return fail(Errc::kInvalidArgument, "a static table has no pivot keys");
  }
  TRY_VOID(tablet_settings(path, record, 0));
  return {};
}

}  // namespace

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
    return fail(Errc::kReadOnly, fmt::format("Cannot {} of {} since not all tablets are unmounted: "
                                             "tablet {} is {}",
                                             what, table.shown_path(), tablet.info.id.value,
                                             to_string(tablet.state)));
  }
  return {};
}

Task<Result<void>> StoredTables::locked(std::function<Task<Result<void>>()> body) {
  if (changes_.waiting() >= kTableChangesMax) {
    co_return fail(Errc::kOverloaded, fmt::format("{} changes are waiting", changes_.waiting()));
  }
  co_await changes_.acquire();
  co_await yield(world_.executor);
  Result<void> done = co_await body();
  changes_.release();
  co_return done;
}

Task<Result<void>> StoredTables::change(std::string path, Change body) {
  const std::function<Task<Result<void>>()> on_table = [&]() -> Task<Result<void>> {
    const TablePtr table = find(path);
    if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
    co_return unless_superseded(co_await body(table));
  };
  co_return co_await locked(on_table);
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
  CO_TRY(const NodePtr node, co_await tree->alter(std::move(request)));
  CO_TRY_VOID(adopt(*node));
  co_return Result<void>();
}

Task<Result<void>> StoredTables::create(std::string path, NewTable table) {
  const std::function<Task<Result<void>>()> made = [&] {
    return create_locked(std::move(path), std::move(table));
  };
  co_return unless_superseded(co_await locked(made));
}

Task<Result<void>> StoredTables::create_locked(std::string path, NewTable table) {
  CO_TRY_VOID(check_pivots(table.pivots));
  if (table.state != MountState::kUnmounted) {
    CO_TRY_VOID(check_mountable(table.state));
  }
  TableRecord record;
  record.dynamic = table.dynamic;
  record.schema = std::move(table.schema);
  record.options = std::move(table.options);
  apply_options(record, now_ms());
  const MountState state = record.dynamic ? table.state : MountState::kFrozen;
  record.tablets.resize(table.pivots.size() + 1);
  for (std::size_t i = 0; i < table.pivots.size(); ++i) {
    record.tablets[i + 1].pivot = table.pivots[i];
  }
  CO_TRY_VOID(check_record(path, record));
  if (find(path)) co_return fail(Errc::kAlreadyExists, fmt::format("/{} is a table", path));
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  const auto count = static_cast<std::uint32_t>(record.tablets.size());
  for (TabletOfTable& tablet : record.tablets) tablet.state = state;
  CreateNode request;
  request.kind = NodeKind::kTable;
  request.path = path;
  request.parents = true;
  request.tablets = count;
  request.record = [record, this](TabletId first) {
    TableRecord placed = record;
    for (std::size_t i = 0; i < placed.tablets.size(); ++i) {
      placed.tablets[i].info = place(TabletId{first.value + i}, i);
    }
    return encode_table(placed);
  };
  CO_TRY(const NodePtr node, co_await tree->create(std::move(request)));
  CO_TRY(const TablePtr made, adopt(*node));
  if (state == MountState::kUnmounted) co_return Result<void>();
  co_return co_await mount_locked(made, state);
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
  CO_TRY_VOID(co_await tree->remove(std::move(request)));
  // Unless the scheme has restarted meanwhile and follow() has done it.
  if (find(table->path()) == table) drop(table);
  for (const TabletInfo& info : retired) scheme_.begin_deletion(info, nullptr);
  co_return Result<void>();
}

Task<Result<void>> StoredTables::remove_directory(std::string path) {
  const std::function<Task<Result<void>>()> removed = [&] { return remove_directory_locked(path); };
  co_return co_await locked(removed);
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
  co_return unless_superseded(co_await tree->remove(std::move(request)));
}

Task<Result<void>> StoredTables::mount(std::string path, MountState state) {
  return change(std::move(path), [this, state](TablePtr table) -> Task<Result<void>> {
    return mount_checked(table, state);
  });
}

Task<Result<void>> StoredTables::mount_checked(TablePtr table, MountState state) {
  CO_TRY_VOID(check_mountable(state));
  CO_TRY_VOID(check_dynamic(*table, "be mounted"));
  co_return co_await mount_locked(table, state);
}

Task<Result<void>> StoredTables::mount_locked(TablePtr table, MountState state) {
  TableRecord record = table->record();
  bool changed = false;
  for (TabletOfTable& tablet : record.tablets) {
    if (tablet.state == state) continue;
    if (tablet.state != MountState::kUnmounted) {
      co_return fail(Errc::kReadOnly, fmt::format("Cannot mount tablet {} in \"{}\" state",
                                                  tablet.info.id.value, to_string(tablet.state)));
    }
    tablet.state = state;
    changed = true;
  }
  if (changed) apply_options(record, now_ms());
  CO_TRY_VOID(tablet_settings(table->path(), record, 0));
  if (changed) {
    CO_TRY_VOID(co_await store(table, record));
  }
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    if (!co_await table->wait_tablet(i, soon())) {
      co_return fail(Errc::kUnavailable,
                     fmt::format("tablet {} of {} has not started yet; see the log for the reason",
                                 record.tablets[i].info.id.value, table->shown_path()));
    }
  }
  table->republish();
  bool parents = false;
  for (TabletOfTable& tablet : record.tablets) {
    parents = parents || !tablet.parents.empty();
    tablet.parents.clear();
  }
  if (!parents) co_return Result<void>();
  co_return of_partial_change(co_await store(table, std::move(record)));
}

Task<Result<void>> StoredTables::unmount(std::string path) {
  return change(std::move(path),
                [this](TablePtr table) { return move_to(table, MountState::kUnmounted); });
}

Task<Result<void>> StoredTables::freeze(std::string path) {
  return change(std::move(path),
                [this](TablePtr table) { return move_to(table, MountState::kFrozen); });
}

// To unmounted or frozen: first the transitional state is stored; then memory is flushed; then the
// final state is stored.
Task<Result<void>> StoredTables::move_to(TablePtr table, MountState state) {
  const bool unmounts = state == MountState::kUnmounted;
  CO_TRY_VOID(check_dynamic(*table, unmounts ? "be unmounted" : "be frozen"));
  const MountState way = unmounts ? MountState::kUnmounting : MountState::kFreezing;
  TableRecord record = table->record();
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    TabletOfTable& tablet = record.tablets[i];
    if (tablet.state == state) continue;
    if (!unmounts && tablet.state != MountState::kMounted && tablet.state != way) {
      co_return fail(Errc::kReadOnly, fmt::format("Cannot freeze tablet {} in \"{}\" state",
                                                  tablet.info.id.value, to_string(tablet.state)));
    }
    tablet.state = way;
    moved.push_back(i);
  }
  if (moved.empty()) co_return Result<void>();
  CO_TRY_VOID(co_await store(table, record));
  co_return of_partial_change(
      co_await finish_move(table, std::move(record), std::move(moved), state));
}

Task<Result<void>> StoredTables::finish_move(TablePtr table, TableRecord record,
                                             std::vector<std::size_t> moved, MountState state) {
  for (const std::size_t i : moved) {
    const auto tablet = co_await table->wait_tablet(i, soon());
    if (!tablet) {
      co_return fail(Errc::kUnavailable,
                     fmt::format("tablet {} of {} is not running", record.tablets[i].info.id.value,
                                 table->shown_path()));
    }
    CO_TRY_VOID(co_await tablet->run([](table::TableTablet& running) { return running.freeze(); }));
  }
  for (const std::size_t i : moved) {
    record.tablets[i].state = state;
    record.tablets[i].parents.clear();
    if (state == MountState::kUnmounted) co_await table->stop_tablet(i);
  }
  co_return co_await store(table, std::move(record));
}

Task<Result<void>> StoredTables::unfreeze(std::string path) {
  return change(std::move(path), [this](TablePtr table) { return unfreeze_locked(table); });
}

Task<Result<void>> StoredTables::unfreeze_locked(TablePtr table) {
  CO_TRY_VOID(check_dynamic(*table, "be unfrozen"));
  TableRecord record = table->record();
  for (TabletOfTable& tablet : record.tablets) {
    if (tablet.state != MountState::kFrozen && tablet.state != MountState::kMounted) {
      co_return fail(Errc::kReadOnly, fmt::format("Cannot unfreeze tablet {} in \"{}\" state",
                                                  tablet.info.id.value, to_string(tablet.state)));
    }
    tablet.state = MountState::kMounted;
  }
  co_return co_await store(table, std::move(record));
}

Task<Result<void>> StoredTables::alter(std::string path, TableSchema schema) {
  return change(std::move(path),
                [this, schema](TablePtr table) { return replace_schema(table, schema); });
}

Task<Result<void>> StoredTables::replace_schema(TablePtr table, TableSchema schema) {
  CO_TRY_VOID(check_dynamic(*table, "change its schema"));
  CO_TRY_VOID(check_unmounted(*table, "change table schema"));
  TableRecord record = table->record();
  CO_TRY_VOID(table::check_schema(schema));
  CO_TRY_VOID(table::check_alter(record.schema, schema));
  record.schema = std::move(schema);
  CO_TRY_VOID(tablet_settings(table->path(), record, 0));
  co_return co_await store(table, std::move(record));
}

}  // namespace moraine
