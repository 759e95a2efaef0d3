// Static tables: their rows and their schemas.

#include <fmt/format.h>

#include <algorithm>

#include "node/stored_tables.h"
#include "table/model/schema_check.h"

namespace moraine {
namespace {

// Whether rows of the old schema can be read by the new one.
Result<void> check_static_alter(const TableSchema& before, const TableSchema& after) {
  TRY_VOID(table::check_alter(before, after, table::TableKind::kStatic));
  if (before.unique_keys != after.unique_keys) {
    return fail(Errc::kInvalidArgument,
                "Table schemas are incompatible: rows that a table has keep or lose unique keys");
  }
  // The number of the row is the last part of stored keys.
  if (table::has_row_numbers(before) && before.key_count() != after.key_count()) {
    return fail(Errc::kInvalidArgument,
                "Table schemas are incompatible: a table whose keys may repeat cannot get more key "
                "columns");
  }
  return {};
}

}  // namespace

Task<Result<void>> StoredTables::write_static(std::string path,
                                              std::shared_ptr<const table::StaticRows> rows) {
  return change(std::move(path), [this, rows](TablePtr table) {
    return write_static_locked(table, rows, table::StaticWrite::kAppend);
  });
}

Task<Result<void>> StoredTables::rewrite_static(std::string path,
                                                std::shared_ptr<const table::StaticRows> rows) {
  return change(std::move(path), [this, rows](TablePtr table) {
    return write_static_locked(table, rows, table::StaticWrite::kReplace);
  });
}

Task<Result<std::shared_ptr<LaneTable>>> StoredTables::static_tablet(TablePtr table,
                                                                     const TableSchema& schema) {
  const auto tablet = co_await table->wait_tablet(0, soon());
  if (table->record().dynamic) {
    co_return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is a dynamic table: write rows in transactions", table->shown_path()));
  }
  if (table->record().schema != schema) {
    co_return fail(Errc::kAborted,
                   fmt::format("the schema of {} has changed", table->shown_path()));
  }
  if (!tablet) {
    co_return fail(Errc::kNotHere, fmt::format("{} is not running here", table->shown_path()));
  }
  co_return tablet;
}

Task<Result<void>> StoredTables::write_static_locked(TablePtr table,
                                                     std::shared_ptr<const table::StaticRows> rows,
                                                     table::StaticWrite how) {
  CO_TRY(const auto tablet, co_await static_tablet(table, rows->schema()));
  co_return co_await tablet->run([&rows, how](table::TableTablet& running) {
    return running.write_static(std::move(rows), how);
  });
}

// Other changes of tables do not wait for it: whoever replaces the tablet stops it, and the write.
Task<Result<void>> StoredTables::write_batches(std::string path,
                                               std::shared_ptr<const TableSchema> schema,
                                               table::StaticBatches rows, table::StaticWrite how) {
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  CO_TRY(const auto tablet, co_await static_tablet(table, *schema));
  co_return co_await tablet->run([&rows, how](table::TableTablet& running) {
    return running.write_static(std::move(rows), how);
  });
}

Task<Result<void>> StoredTables::settle_locked(std::string path) {
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  TableRecord record = table->record();
  if (record.dynamic || record.tablets[0].parents.empty()) co_return Result<void>();
  if (!co_await table->wait_tablet(0, soon())) {
    co_return fail(Errc::kNotHere, fmt::format("{} is not running here", table->shown_path()));
  }
  record.tablets[0].parents.clear();
  co_return co_await store(table, std::move(record));
}

// A new tablet with the new schema takes over the chunks of the one that has been running.
Task<Result<void>> StoredTables::replace_static_schema(TablePtr table, TableSchema schema) {
  TableRecord record = table->record();
  CO_TRY_VOID(table::check_schema(schema, table::TableKind::kStatic));
  const auto running = co_await table->wait_tablet(0, soon());
  if (!running) {
    co_return fail(Errc::kNotHere, fmt::format("{} is not running here", table->shown_path()));
  }
  const table::TabletStatistics figures =
      co_await running->get([](table::TableTablet& tablet) { return tablet.statistics(); });
  const bool has_rows = figures.unmerged_rows > 0;
  if (has_rows) {
    CO_TRY_VOID(check_static_alter(record.schema, schema));
  }
  if (record.schema == schema) co_return Result<void>();
  TabletOfTable next;
  next.state = MountState::kFrozen;
  next.applied = record.tablets[0].applied;
  if (has_rows) next.parents.push_back(record.tablets[0].info.id);
  record.retired.push_back(record.tablets[0].info);
  record.tablets.assign(1, std::move(next));
  record.schema = std::move(schema);
  CO_TRY_VOID(tablet_settings(table->path(), record, 0));
  const Fill fill = [this](TableRecord& filled, TabletId first) {
    filled.tablets[0].info = place(first, 0);
  };
  CO_TRY_VOID(co_await store(table, std::move(record), 1, fill));
  if (!co_await table->wait_tablet(0, soon())) {
    co_return fail(Errc::kTimeout, fmt::format("{} is not running yet", table->shown_path()));
  }
  co_return Result<void>();
}

}  // namespace moraine
