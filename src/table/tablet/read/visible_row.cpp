#include "table/tablet/read/visible_row.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::table {

Result<void> ReadColumns::prepare(std::span<const ColumnIndex> columns, const TableSchema& schema) {
  const std::size_t key_columns = schema.key_count();
  if (schema_columns_ == schema.columns.size() && key_count_ == key_columns &&
      std::ranges::equal(asked, columns)) {
    return {};
  }
  schema_columns_ = 0;
  keys.clear();
  values.clear();
  value_at.clear();
  set_ = ColumnSet::none(schema.columns.size());
  std::vector<bool> seen(schema.columns.size());
  std::size_t different = 0;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const ColumnIndex column = columns[at];
    const auto place = static_cast<std::uint32_t>(at);
    if (column >= schema.columns.size()) {
      return fail(Errc::kInvalidArgument, fmt::format("No such column {}", column));
    }
    if (column < key_columns) {
      keys.push_back({place, column});
      continue;
    }
    values.push_back(column);
    value_at.push_back(place);
    set_.add(column);
    if (!seen[column]) ++different;
    seen[column] = true;
  }
  adjacent = value_at.empty() || value_at.back() - value_at.front() + 1 == value_at.size();
  all_ = different == schema.columns.size() - key_columns;
  asked.assign(columns.begin(), columns.end());
  key_count_ = key_columns;
  schema_columns_ = schema.columns.size();
  return {};
}

}  // namespace moraine::table
