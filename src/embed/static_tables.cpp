// Static tables, and metrics of all tables.

#include <fmt/format.h>

#include "embed/api_impl.h"
#include "node/tables_report.h"

namespace moraine {

using StaticRowsPtr = std::shared_ptr<const table::StaticRows>;

Task<Result<void>> Database::create_static_table_async(std::string path, TableSchema schema,
                                                       TableOptions options) {
  NewTable table;
  table.schema = std::move(schema);
  table.options = std::move(options);
  table.dynamic = false;
  return impl_->core->tables().create(scheme_path(path), std::move(table));
}
Result<void> Database::create_static_table(std::string_view path, const TableSchema& schema,
                                           const TableOptions& options) {
  return impl_->core->get<Result<void>>(
      [&] { return create_static_table_async(std::string(path), schema, options); });
}

Task<Result<void>> Database::write_static_table_async(std::string path,
                                                      std::vector<std::vector<NamedValue>> rows) {
  embed::DatabaseCore& core = *impl_->core;
  CO_TRY(const client::Table table, core.client().open(path));
  CO_TRY(StaticRowsPtr checked, table.check_rows(rows));
  co_return co_await core.tables().write_static(scheme_path(path), std::move(checked));
}

// Checks the rows on the caller's thread, since there may be many.
Result<void> Database::write_static_table(std::string_view path,
                                          std::span<const std::vector<NamedValue>> rows) {
  TRY(const Table table, this->table(path));
  TRY(const StaticRowsPtr checked, table.impl_->table.check_rows(rows));
  return impl_->core->get<Result<void>>(
      [&] { return impl_->core->tables().write_static(scheme_path(path), checked); });
}

Task<Result<void>> Database::make_dynamic_async(std::string path) {
  return impl_->core->tables().make_dynamic(scheme_path(path));
}
Result<void> Database::make_dynamic(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return make_dynamic_async(std::string(path)); });
}

Task<std::string> Database::metrics_async() const {
  const auto core = impl_->core;
  const TablesReport report =
      co_await run_there(core->control(), [&] { return report_tables(core->services()); });
  co_return to_prometheus(report) + impl_->core->lane_metrics();
}
std::string Database::metrics() const {
  return impl_->core->get<std::string>([&] { return metrics_async(); });
}

}  // namespace moraine
