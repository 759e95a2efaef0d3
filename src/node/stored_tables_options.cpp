// Options of tables: stored when they are set, applied by mounts and remounts.

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "node/stored_tables.h"

namespace moraine {

std::uint64_t StoredTables::now_ms() const {
  return static_cast<std::uint64_t>(world_.clock.since_epoch().count());
}

Result<TableRecord> StoredTables::with_options(const RunningTable& table,
                                               TableOptions options) const {
  TRY_VOID(check_dynamic(table, "change its options"));
  TableRecord record = table.record();
  if (options.in_memory_mode != record.options.in_memory_mode) {
    TRY_VOID(check_unmounted(table, "change in_memory_mode"));
  }
  if (options.atomicity != record.options.atomicity) {
    TRY_VOID(check_unmounted(table, "change atomicity"));
  }
  if (options.mount.forced_compaction_revision == 0) {
    options.mount.forced_compaction_revision = record.options.mount.forced_compaction_revision;
  } else {
    // Later than the previous one, whatever the clock says: each setting is a new command.
    record.forced_compaction_ms = std::max(now_ms(), record.forced_compaction_ms + 1);
  }
  record.options = std::move(options);
  TableRecord mounted = record;
  apply_options(mounted, now_ms());
  TRY_VOID(tablet_settings(table.path(), mounted, 0));
  return record;
}

Task<Result<void>> StoredTables::set_options(std::string path, TableOptions options) {
  return change(std::move(path),
                [this, options](TablePtr table) { return replace_options(table, options); });
}

Task<Result<void>> StoredTables::replace_options(TablePtr table, TableOptions options) {
  CO_TRY(TableRecord record, with_options(*table, std::move(options)));
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

Task<Result<void>> StoredTables::remount(std::string path) {
  return change(std::move(path),
                [this](TablePtr table) { return apply_stored(table, std::nullopt); });
}

Task<Result<void>> StoredTables::remount(std::string path, TableMountOptions options) {
  return change(std::move(path),
                [this, options](TablePtr table) { return apply_stored(table, options); });
}

Task<Result<void>> StoredTables::apply_stored(TablePtr table,
                                              std::optional<TableMountOptions> options) {
  CO_TRY_VOID(check_dynamic(*table, "be remounted"));
  TableOptions stored = table->record().options;
  stored.mount.forced_compaction_revision = 0;
  if (options) stored.mount = *options;
  CO_TRY(TableRecord record, with_options(*table, std::move(stored)));
  if (record.forced_compaction_ms > record.applied_forced_compaction_ms) {
    // Rows in memory are flushed first, to be compacted too. If there is no space for a flush,
    // compacting the chunks may free some.
    for (std::size_t i = 0; i < record.tablets.size(); ++i) {
      const auto tablet = table->calls(i);
      if (!tablet) continue;
      const auto flushed =
          co_await tablet->run([](table::TableTablet& running) { return running.flush(); });
      if (flushed) continue;
      log_warning("rows in memory could not be flushed and are not part of a forced compaction",
                  {{"table", table->shown_path()}, {"error", flushed.error()}});
    }
  }
  apply_options(record, now_ms());
  co_return co_await store(table, std::move(record));
}

}  // namespace moraine
