#include "client/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/tables.h"
#include "table/model/column_names.h"
#include "table/model/ordered.h"

namespace moraine::client {
namespace {

// The same for every Table of one path, client and schema, so that equal ids mean equal column
// indexes. Never 0, which means all columns of any table.
std::uint64_t id_of_columns(const Table& table) {
  std::string text = fmt::format("{} {}", fmt::ptr(table.client), scheme_path(table.path));
  for (const ColumnSchema& column : table.schema->columns) {
    text += fmt::format("\n{} {} {}", column.name.size(), column.name,
                        static_cast<unsigned>(column.type));
  }
  return std::max<std::uint64_t>(std::hash<std::string>()(text), 1);
}

}  // namespace

Result<Table> Table::open(TableClient& client, std::string path,
                          std::shared_ptr<TableHolder> holder) {
  Table table;
  table.client = &client;
  table.path = std::move(path);
  table.holder = std::move(holder);
  const std::shared_ptr<const OpenTable> open = table.holder->hold();
  table.schema = open->schema;
  table.shown = open->shown ? open->shown : open->schema;
  table.dynamic = open->dynamic;
  table.ordered = table.dynamic && table::is_ordered(*table.schema);
  table.unique_keys = table.shown->unique_keys && table.shown->key_count() > 0;
  table.columns_id = id_of_columns(table);
  TRY(table.layout, table::RowLayout::make(table.schema));
  bool computed = false;
  for (std::size_t i = 0; i < table.schema->columns.size(); ++i) {
    const ColumnSchema& column = table.schema->columns[i];
    if (column.name == table::kOtherColumns) {
      table.others = static_cast<std::uint16_t>(i);
    } else if (column.name != table::kRowNumberColumn) {
      table.all_columns.push_back(static_cast<std::uint16_t>(i));
    }
    computed = computed || !column.expression.empty();
    if (column.key) table.key_types.push_back(physical_type(column.type));
  }
  if (computed) table.key_types.clear();
  return table;
}

Result<Columns> Table::columns(std::span<const std::string> names) const {
  Columns columns;
  columns.table_ = columns_id;
  table::ColumnNames known(*schema);
  for (const std::string& name : names) {
    const auto found = known.find(name);
    if (!found || name == table::kRowNumberColumn || *found == others) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("No such column \"{}\" in table {}", name, path));
    }
    columns.indexes_.push_back(static_cast<std::uint16_t>(*found));
  }
  return columns;
}

Result<Columns> Table::columns_and(std::span<const std::string> names, std::uint16_t hidden) const {
  TRY(Columns chosen, columns(names));
  chosen.indexes_.push_back(hidden);
  return chosen;
}

Result<std::shared_ptr<const table::StaticRows>> Table::check_rows(
    std::span<const std::vector<NamedValue>> rows) const {
  if (dynamic) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is a dynamic table: write its rows with transactions", path));
  }
  TRY(const std::shared_ptr<const table::RowLayout> shown_layout, table::RowLayout::make(shown));
  const auto checked = std::make_shared<table::StaticRows>(shown_layout);
  for (const std::vector<NamedValue>& row : rows) {
    if (auto added = checked->add(row); !added) {
      return std::unexpected(
          std::move(added).error().within(fmt::format("{} row {}", path, checked->size())));
    }
  }
  return checked;
}

std::unexpected<Error> Table::altered() const {
  return fail(Errc::kInvalidArgument,
              fmt::format("the schema of {} has changed: open the table again", path));
}

std::unexpected<Error> Table::other_columns() const {
  return fail(Errc::kInvalidArgument,
              fmt::format("the columns were made by another table than {}, or before its schema "
                          "changed: make them by columns() of the table that is read",
                          path));
}

}  // namespace moraine::client
