#include "table/model/row_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/model/key.h"
#include "table/model/limits.h"

namespace moraine::table {

std::vector<std::string> lock_names(const TableSchema& schema) {
  std::vector<std::string> names(1);
  for (const ColumnSchema& column : schema.columns) {
    if (std::ranges::find(names, column.lock) == names.end()) names.push_back(column.lock);
  }
  return names;
}

RowLayout::RowLayout(std::shared_ptr<const TableSchema> schema)
    : schema_(std::move(schema)),
      key_count_(schema_->key_count()),
      lock_names_(table::lock_names(*schema_)) {
  for (std::size_t i = 0; i < schema_->columns.size(); ++i) {
    const ColumnSchema& column = schema_->columns[i];
    names_.emplace(column.name, static_cast<ColumnIndex>(i));
    types_.emplace_back();
    if (!column.type_v3.empty()) types_.back() = stored_part(column);
    locks_.push_back(column.lock.empty() ? 0 : *find_lock(column.lock));
  }
}

Result<std::shared_ptr<const RowLayout>> RowLayout::make(
    std::shared_ptr<const TableSchema> schema) {
  std::shared_ptr<RowLayout> layout(new RowLayout(std::move(schema)));
  for (std::size_t i = 0; i < layout->key_count_; ++i) {
    const ColumnSchema& column = layout->schema_->columns[i];
    if (column.expression.empty()) continue;
    TRY(CompiledExpression expression, compile_expression(column.expression, *layout->schema_));
    layout->computed_.push_back({static_cast<ColumnIndex>(i), std::move(expression)});
  }
  return layout;
}

Result<ColumnIndex> RowLayout::find(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end() || !schema_->columns[found->second].expression.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("No column \"{}\" in table schema", name));
  }
  return found->second;
}

std::optional<std::size_t> RowLayout::find_lock(std::string_view name) const {
  const auto found = std::find(lock_names_.begin() + 1, lock_names_.end(), name);
  if (found == lock_names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - lock_names_.begin());
}

Result<std::string> RowLayout::encode_key_of(std::span<Value> columns, TextMemory& memory) const {
  for (const Computed& computed : computed_) {
    const ColumnSchema& column = schema_->columns[computed.column];
    auto value = computed.expression.evaluate(columns);
    if (!value) return std::unexpected(std::move(value).error().within(column.name));
    TRY(columns[computed.column], to_cell(computed.column, *value, {}, memory));
  }
  for (std::size_t i = 0; i < key_count_; ++i) {
    if (!columns[i].is_null() || !schema_->columns[i].required) continue;
    return fail(
        Errc::kInvalidArgument,
        fmt::format("Required column \"{}\" cannot have \"null\" value", schema_->columns[i].name));
  }
  std::string key = encode_key(columns.first(key_count_));
  if (key.size() > kKeyBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Key is too long: {} bytes, at most {}", key.size(), kKeyBytesMax));
  }
  return key;
}

Result<std::string> encode_lookup_key(const RowLayout& layout, NamedRow values,
                                      const ValueRules& rules) {
  std::vector<Value> columns(layout.key_count());
  std::vector<bool> given(layout.key_count());
  TextMemory memory;
  for (const NamedValue& named : values) {
    TRY(const ColumnIndex column, layout.find(named.name));
    if (column >= layout.key_count()) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("Column \"{}\" is not a key column", named.name));
    }
    if (given[column]) {
      return fail(Errc::kInvalidArgument, fmt::format("Column \"{}\" is given twice", named.name));
    }
    given[column] = true;
    TRY(columns[column], layout.to_cell(column, named.value, rules, memory));
  }
  return layout.encode_key_of(columns, memory);
}

Result<std::string> encode_lookup_key(const RowLayout& layout, Key values,
                                      const ValueRules& rules) {
  std::vector<Value> columns(layout.key_count());
  TextMemory memory;
  std::size_t next = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnSchema& column = layout.schema().columns[i];
    if (!column.expression.empty()) continue;
    if (next == values.size()) return fail(Errc::kInvalidArgument, "Key has too few columns");
    TRY(columns[i], layout.to_cell(static_cast<ColumnIndex>(i), values[next++], rules, memory));
  }
  if (next != values.size()) return fail(Errc::kInvalidArgument, "Key has too many columns");
  return layout.encode_key_of(columns, memory);
}

}  // namespace moraine::table
