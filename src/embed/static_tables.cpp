// Static tables, and figures of all tables.

#include <fmt/format.h>

#include "embed/api_impl.h"
#include "service/tables_report.h"
#include "table/model/static_rows.h"

namespace moraine {

Result<void> Database::create_static_table(std::string_view path, const TableSchema& schema,
                                           const TableOptions& options) {
  NewTable table;
  table.schema = schema;
  table.options = options;
  table.dynamic = false;
  return impl_->core->get<Result<void>>(
      [&] { return impl_->core->services().tables().create(scheme_path(path), std::move(table)); });
}

Result<void> Database::write_static_table(std::string_view path,
                                          std::span<const std::vector<NamedValue>> rows) {
  TRY(const Timestamp written, timestamp());
  TRY(const Table table, this->table(path));
  if (table.impl_->dynamic) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is a dynamic table: rows come by transactions", path));
  }
  TRY(const std::shared_ptr<const table::RowLayout> layout,
      table::RowLayout::make(table.impl_->shown));
  const auto checked = std::make_shared<table::StaticRows>(layout, written);
  for (const std::vector<NamedValue>& row : rows) {
    if (auto added = checked->add(row); !added) {
      return std::unexpected(
          std::move(added).error().within(fmt::format("{} row {}", path, checked->size())));
    }
  }
  return impl_->core->get<Result<void>>(
      [&] { return impl_->core->services().tables().write_static(scheme_path(path), checked); });
}

Result<void> Database::make_dynamic(std::string_view path) {
  return impl_->core->get<Result<void>>(
      [&] { return impl_->core->services().tables().make_dynamic(scheme_path(path)); });
}

std::string Database::metrics() const {
  TablesReport report;
  impl_->core->run([&]() -> Task<void> {
    report = report_tables(impl_->core->services());
    co_return;
  });
  return to_prometheus(report);
}

}  // namespace moraine
