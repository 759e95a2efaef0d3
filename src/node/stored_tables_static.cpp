// Static tables: rows are added by whole writes, in order, until the table is made dynamic.

#include <fmt/format.h>

#include "node/stored_tables.h"
#include "table/model/schema_check.h"

namespace moraine {

Result<void> check_dynamic(const RunningTable& table, std::string_view what) {
  if (table.record().dynamic) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is a static table and cannot {}; make it dynamic first",
                          table.shown_path(), what));
}

Task<Result<void>> StoredTables::write_static(std::string path,
                                              std::shared_ptr<const table::StaticRows> rows) {
  return change(std::move(path),
                [this, rows](TablePtr table) { return write_static_locked(table, rows); });
}

Task<Result<void>> StoredTables::write_static_locked(
    TablePtr table, std::shared_ptr<const table::StaticRows> rows) {
  if (table->record().dynamic) {
    co_return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is a dynamic table: write rows in transactions", table->shown_path()));
  }
  if (table->record().schema != rows->schema()) {
    co_return fail(Errc::kAborted,
                   fmt::format("the schema of {} has changed", table->shown_path()));
  }
  const auto tablet = co_await table->wait_tablet(0, soon());
  if (!tablet) {
    co_return fail(Errc::kNotHere, fmt::format("{} is not running here", table->shown_path()));
  }
  co_return co_await tablet->run(
      [&rows](table::TableTablet& running) { return running.write_static(std::move(rows)); });
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
    co_return fail(Errc::kUnavailable, fmt::format("{} is not running", table->shown_path()));
  }
  table->republish();
  co_return Result<void>();
}

}  // namespace moraine
