// ColumnNames: finds the columns of a schema by their names, also many of many columns.
//
// Threading  One thread at a time.
// Tests      column_names_test.cpp.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "moraine/schema.h"

namespace moraine::table {

class ColumnNames {
 public:
  // `schema` outlives it.
  explicit ColumnNames(const TableSchema& schema) : schema_(&schema) {}

  std::optional<std::size_t> find(std::string_view name) {
    if (schema_->columns.size() <= kScannedMax) return schema_->find(name);
    for (std::size_t i = index_.size(); i < schema_->columns.size(); ++i) {
      index_.emplace(schema_->columns[i].name, i);
    }
    const auto found = index_.find(name);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static constexpr std::size_t kScannedMax = 32;  // Schemas up to this size have no index.

  const TableSchema* schema_;
  std::unordered_map<std::string_view, std::size_t> index_;  // Made by the first find().
};

}  // namespace moraine::table
