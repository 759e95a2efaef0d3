// Table: a table as a door has opened it: its columns, and how keys of it are encoded.
//
// Promise    Immutable. It stays that of the schema at its opening: once the schema has changed,
//            reads and writes through it fail with kInvalidArgument, and once the table was removed
//            with kNotFound.
// Threading  Any thread.
// Tests      embed/: columns_test.cpp, table_rules_test.cpp, static_tables_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "moraine/table.h"
#include "table/model/row_layout.h"
#include "table/model/static_rows.h"
#include "transaction/open_table.h"

namespace moraine::client {

class TableClient;

// Before the name of a value column: the column of the timestamps of its values.
inline constexpr std::string_view kTimestampPrefix = "$timestamp:";

struct Table {
  // `client` outlives the table. `path`: as the user wrote it, for messages.
  static Result<Table> open(TableClient& client, std::string path,
                            std::shared_ptr<TableHolder> holder);

  TableClient* client = nullptr;
  std::shared_ptr<TableHolder> holder;
  std::string path;
  std::shared_ptr<const TableSchema> schema;  // As rows are stored.
  // As readers see it: without the row number of static tables, and `others`.
  std::shared_ptr<const TableSchema> shown;
  bool dynamic = true;      // When it was opened.
  bool ordered = false;     // Rows are appended to its tablets (table/model/ordered.h).
  bool unique_keys = true;  // False: no lookups.
  std::vector<std::uint16_t> all_columns;
  // Of the stored schema: the column with the map of columns that a weak schema does not name.
  std::optional<std::uint16_t> others;
  std::uint64_t columns_id = 0;  // Columns with this id may be used to read this table.
  std::shared_ptr<const table::RowLayout> layout;
  // Physical types of the key columns; empty when some are computed.
  std::vector<ValueType> key_types;

  Result<Columns> columns(std::span<const std::string> names) const;
  // The same, and behind them a column of the stored schema that is not shown.
  Result<Columns> columns_and(std::span<const std::string> names, std::uint16_t hidden) const;
  // Indexes of another table's columns may be wrong or out of range here.
  bool owns(const Columns& columns) const { return columns.all() || columns.table() == columns_id; }
  std::span<const std::uint16_t> indexes_of(const Columns& columns) const {
    return columns.all() ? std::span(all_columns) : std::span(columns.indexes());
  }
  bool is_altered(const OpenTable& open) const { return open.schema != schema; }

  // Rows of one write to a static table. An error names the wrong row.
  Result<std::shared_ptr<const table::StaticRows>> check_rows(
      std::span<const std::vector<NamedValue>> rows) const;

  // Errors of reads.
  std::unexpected<Error> altered() const;
  std::unexpected<Error> other_columns() const;
};

}  // namespace moraine::client
