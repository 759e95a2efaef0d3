// States of tablets of stored tables: mounted, frozen, unmounted, remounted.

#include <fmt/format.h>

#include "base/log.h"
#include "node/stored_tables.h"

namespace moraine {
namespace {

std::unexpected<Error> wrong_state(std::string_view what, const TabletOfTable& tablet,
                                   const RunningTable& table) {
  return fail(Errc::kReadOnly,
              fmt::format("Cannot {} tablet {} of table {} in \"{}\" state", what,
                          tablet.info.id.value, table.shown_path(), to_string(tablet.state)));
}

std::unexpected<Error> out_of_range(std::string_view which, std::size_t index, std::size_t count) {
  return fail(Errc::kInvalidArgument,
              fmt::format("{} tablet index {} is out of range [0, {}]", which, index, count - 1));
}

}  // namespace

Result<TabletSpan> span_of(const TableRecord& record, TabletRange range) {
  const std::size_t count = record.tablets.size();
  const std::size_t last = range.last.value_or(count - 1);
  if (range.first >= count) return out_of_range("First", range.first, count);
  if (last >= count) return out_of_range("Last", last, count);
  if (range.first > last) {
    return fail(Errc::kInvalidArgument,
                fmt::format("First tablet index {} is greater than last tablet index {}",
                            range.first, last));
  }
  return TabletSpan{range.first, last + 1};
}

Result<void> check_mountable(MountState state) {
  if (state == MountState::kMounted || state == MountState::kFrozen) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("a table cannot be mounted as \"{}\"", to_string(state)));
}

Task<Result<void>> StoredTables::mount(std::string path, MountState state, TabletRange range) {
  return change(std::move(path), [this, state, range](TablePtr table) -> Task<Result<void>> {
    return mount_checked(table, state, range);
  });
}

Task<Result<void>> StoredTables::mount_checked(TablePtr table, MountState state,
                                               TabletRange range) {
  CO_TRY_VOID(check_mountable(state));
  CO_TRY_VOID(check_dynamic(*table, "be mounted"));
  co_return co_await mount_locked(table, state, range);
}

Task<Result<void>> StoredTables::mount_locked(TablePtr table, MountState state, TabletRange range) {
  TableRecord record = table->record();
  CO_TRY(const TabletSpan span, span_of(record, range));
  bool changed = false;
  for (std::size_t i = span.first; i < span.end; ++i) {
    TabletOfTable& tablet = record.tablets[i];
    if (tablet.state == state) continue;
    if (tablet.state != MountState::kUnmounted) co_return wrong_state("mount", tablet, *table);
    tablet.state = state;
    apply_options(record, now_ms(), i, i + 1);
    CO_TRY_VOID(tablet_settings(table->path(), record, i));
    changed = true;
  }
  if (changed) {
    CO_TRY_VOID(co_await store(table, record));
  }
  bool parents = false;
  for (std::size_t i = span.first; i < span.end; ++i) {
    if (!co_await table->wait_tablet(i, soon())) {
      co_return fail(Errc::kTimeout,
                     fmt::format("tablet {} of {} has not started yet; see the log for the reason",
                                 record.tablets[i].info.id.value, table->shown_path()));
    }
    parents = parents || !record.tablets[i].parents.empty();
    record.tablets[i].parents.clear();
  }
  if (!parents) co_return Result<void>();
  co_return of_partial_change(co_await store(table, std::move(record)));
}

Task<Result<void>> StoredTables::unmount(std::string path, TabletRange range) {
  return change(std::move(path), [this, range](TablePtr table) {
    return move_to(table, MountState::kUnmounted, range);
  });
}

Task<Result<void>> StoredTables::freeze(std::string path, TabletRange range) {
  return change(std::move(path), [this, range](TablePtr table) {
    return move_to(table, MountState::kFrozen, range);
  });
}

// To unmounted or frozen: first the transitional state is stored; then memory is flushed; then the
// final state is stored.
Task<Result<void>> StoredTables::move_to(TablePtr table, MountState state, TabletRange range) {
  const bool unmounts = state == MountState::kUnmounted;
  CO_TRY_VOID(check_dynamic(*table, unmounts ? "be unmounted" : "be frozen"));
  const MountState way = unmounts ? MountState::kUnmounting : MountState::kFreezing;
  TableRecord record = table->record();
  CO_TRY(const TabletSpan span, span_of(record, range));
  std::vector<std::size_t> moved;
  for (std::size_t i = span.first; i < span.end; ++i) {
    TabletOfTable& tablet = record.tablets[i];
    if (tablet.state == state) continue;
    if (!unmounts && tablet.state != MountState::kMounted && tablet.state != way) {
      co_return wrong_state("freeze", tablet, *table);
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
      co_return fail(Errc::kTimeout,
                     fmt::format("tablet {} of {} is not running", record.tablets[i].info.id.value,
                                 table->shown_path()));
    }
    CO_TRY_VOID(co_await tablet->run([](table::TableTablet& running) { return running.freeze(); }));
  }
  for (const std::size_t i : moved) {
    record.tablets[i].state = state;
    record.tablets[i].parents.clear();
  }
  CO_TRY_VOID(co_await store(table, record));
  if (state != MountState::kUnmounted) co_return Result<void>();
  for (const std::size_t i : moved) {
    co_await scheme_.tablets().wait_stopped(record.tablets[i].info.id);
  }
  co_return Result<void>();
}

Task<Result<void>> StoredTables::finish_transitions_locked(TablePtr table) {
  for (const auto& [way, state] : {std::pair(MountState::kUnmounting, MountState::kUnmounted),
                                   std::pair(MountState::kFreezing, MountState::kFrozen)}) {
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
      if (table->record().tablets[i].state == way) moved.push_back(i);
    }
    if (moved.empty()) continue;
    CO_TRY_VOID(co_await finish_move(table, table->record(), std::move(moved), state));
  }
  co_return Result<void>();
}

Task<Result<void>> StoredTables::unfreeze(std::string path, TabletRange range) {
  return change(std::move(path),
                [this, range](TablePtr table) { return unfreeze_locked(table, range); });
}

Task<Result<void>> StoredTables::unfreeze_locked(TablePtr table, TabletRange range) {
  CO_TRY_VOID(check_dynamic(*table, "be unfrozen"));
  TableRecord record = table->record();
  CO_TRY(const TabletSpan span, span_of(record, range));
  for (std::size_t i = span.first; i < span.end; ++i) {
    TabletOfTable& tablet = record.tablets[i];
    if (tablet.state != MountState::kFrozen && tablet.state != MountState::kMounted) {
      co_return wrong_state("unfreeze", tablet, *table);
    }
    tablet.state = MountState::kMounted;
  }
  co_return co_await store(table, std::move(record));
}

Task<Result<void>> StoredTables::remount(std::string path, TabletRange range) {
  return change(std::move(path),
                [this, range](TablePtr table) { return apply_stored(table, std::nullopt, range); });
}

Task<Result<void>> StoredTables::remount(std::string path, TableMountOptions options) {
  return change(std::move(path),
                [this, options](TablePtr table) { return apply_stored(table, options, {}); });
}

Task<Result<void>> StoredTables::apply_stored(TablePtr table,
                                              std::optional<TableMountOptions> options,
                                              TabletRange range) {
  CO_TRY_VOID(check_dynamic(*table, "be remounted"));
  CO_TRY(const TabletSpan span, span_of(table->record(), range));
  TableOptions stored = table->record().options;
  stored.mount.forced_compaction_revision = 0;
  if (options) stored.mount = *options;
  CO_TRY(TableRecord record, with_options(*table, std::move(stored)));
  CO_TRY_VOID(check_mount(*table, record));
  // Rows in memory are flushed before a forced compaction, to be compacted too. If there is no
  // space for a flush, compacting the chunks may free some.
  for (std::size_t i = span.first; i < span.end; ++i) {
    if (applied_options(record, i).forced_compaction_ms < record.forced_compaction_ms) {
      const auto tablet = table->calls(i);
      if (!tablet) continue;
      const auto flushed =
          co_await tablet->run([](table::TableTablet& running) { return running.flush(); });
      if (flushed) continue;
      log_warning("rows in memory could not be flushed and are not part of a forced compaction",
                  {{"table", table->shown_path()}, {"error", flushed.error()}});
    }
  }
  apply_options(record, now_ms(), span.first, span.end);
  co_return co_await store(table, std::move(record));
}

}  // namespace moraine
