// Tables by path, and their columns by name.

#include <fmt/format.h>

#include <algorithm>

#include "embed/api_impl.h"
#include "table/model/static_rows.h"

namespace moraine {
namespace {

// The same for every Table of one path, database and schema, so that equal ids mean equal column
// indexes. Never 0, which means all columns of any table.
std::uint64_t columns_id(const Table::Impl& table) {
  std::string text = fmt::format("{} {}", fmt::ptr(table.core.get()), scheme_path(table.path));
  for (const ColumnSchema& column : table.schema->columns) {
    text += fmt::format("\n{} {} {}", column.name.size(), column.name,
                        static_cast<unsigned>(column.type));
  }
  return std::max<std::uint64_t>(std::hash<std::string>()(text), 1);
}

Result<std::shared_ptr<const Table::Impl>> open_table(std::shared_ptr<embed::DatabaseCore> core,
                                                      std::string path,
                                                      std::shared_ptr<TableHolder> holder) {
  auto impl = std::make_shared<Table::Impl>();
  impl->core = std::move(core);
  impl->path = std::move(path);
  impl->holder = std::move(holder);
  const std::shared_ptr<const OpenTable> open = impl->holder->hold();
  impl->schema = open->schema;
  impl->shown = open->shown ? open->shown : open->schema;
  impl->dynamic = open->dynamic;
  impl->unique_keys = impl->shown->unique_keys && impl->shown->key_count() > 0;
  impl->columns_id = columns_id(*impl);
  TRY(impl->layout, table::RowLayout::make(impl->schema));
  bool computed = false;
  for (std::size_t i = 0; i < impl->schema->columns.size(); ++i) {
    const ColumnSchema& column = impl->schema->columns[i];
    if (column.name != table::kRowNumberColumn) {
      impl->all_columns.push_back(static_cast<std::uint16_t>(i));
    }
    computed = computed || !column.expression.empty();
    if (column.key) impl->key_types.push_back(physical_type(column.type));
  }
  if (computed) impl->key_types.clear();
  return impl;
}

}  // namespace

Task<Result<Table>> Database::table_async(std::string path) const {
  const std::shared_ptr<embed::DatabaseCore> core = impl_->core;
  const auto found = core->services().tables().find(scheme_path(path));
  if (!found) co_return fail(Errc::kNotFound, fmt::format("no table {}", path));
  CO_TRY(std::shared_ptr<const Table::Impl> impl, open_table(core, path, found->holder()));
  co_return Table(std::move(impl));
}

Result<Table> Database::table(std::string_view path) const {
  return impl_->core->get<Result<Table>>([&] { return table_async(std::string(path)); });
}

Table::Table(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const std::string& Table::path() const {
  return impl_->path;
}
const TableSchema& Table::schema() const {
  return *impl_->shown;
}

Result<Columns> Table::columns(std::span<const std::string> names) const {
  Columns columns;
  columns.table_ = impl_->columns_id;
  for (const std::string& name : names) {
    const auto found = impl_->schema->find(name);
    if (!found || name == table::kRowNumberColumn) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("No such column \"{}\" in table {}", name, impl_->path));
    }
    columns.indexes_.push_back(static_cast<std::uint16_t>(*found));
  }
  return columns;
}

Result<Columns> Table::columns(std::initializer_list<std::string_view> names) const {
  return columns(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace moraine
