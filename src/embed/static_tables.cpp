// Static and ordered tables, and metrics of tables and topics.

#include <fmt/format.h>

#include "embed/api_impl.h"
#include "node/tables_report.h"
#include "node/topic_metrics.h"

namespace moraine {

using StaticRowsPtr = std::shared_ptr<const table::StaticRows>;

namespace {

// Readers of this interface see the columns of the schema only.
Task<Result<void>> create_strict(std::shared_ptr<embed::DatabaseCore> core, std::string path,
                                 NewTable table) {
  if (!table.schema.strict) {
    co_return fail(Errc::kUnsupported,
                   "static tables without a strict schema are used over HTTP only");
  }
  co_return co_await core->tables().create(std::move(path), std::move(table));
}

}  // namespace

Task<Result<void>> Database::create_static_table(std::string_view path, TableSchema schema,
                                                 TableOptions options) {
  NewTable table;
  table.schema = std::move(schema);
  table.options = std::move(options);
  table.dynamic = false;
  return create_strict(impl_->core, scheme_path(path), std::move(table));
}

namespace {

Task<Result<void>> append(std::shared_ptr<embed::DatabaseCore> core, std::string path,
                          Result<StaticRowsPtr> checked) {
  CO_TRY(StaticRowsPtr rows, std::move(checked));
  co_return co_await core->tables().write_static(std::move(path), std::move(rows));
}

Result<StaticRowsPtr> check_rows(embed::DatabaseCore& core, std::string_view path,
                                 std::span<const std::vector<NamedValue>> rows) {
  TRY(const client::Table table, core.client().open(std::string(path)));
  return table.check_rows(rows);
}

Task<std::string> topic_metrics(const Node& node) {
  co_return to_prometheus(node.topics_report(), node.topic_cache());
}

}  // namespace

// Checks the rows on the caller's thread, since there may be many.
Task<Result<void>> Database::write_static_table(std::string_view path,
                                                std::span<const std::vector<NamedValue>> rows) {
  return append(impl_->core, scheme_path(path), check_rows(*impl_->core, path, rows));
}

Task<Result<void>> Database::make_dynamic(std::string_view path) {
  return impl_->core->tables().make_dynamic(scheme_path(path));
}

Task<Result<void>> Database::trim_rows(std::string_view path, std::size_t tablet,
                                       std::uint64_t rows) {
  return impl_->core->tables().trim(scheme_path(path), tablet, rows);
}

Task<std::string> Database::metrics() const {
  const auto core = impl_->core;
  const TablesReport tables =
      co_await run_there(core->control(), [&] { return report_tables(core->services()); });
  const std::string topics =
      co_await run_there(core->control(), [&] { return topic_metrics(core->node()); });
  co_return to_prometheus(tables) + topics + core->lane_metrics();
}

}  // namespace moraine
