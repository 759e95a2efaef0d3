// RowLayout: a schema prepared for rows given by column name: columns by name, lock groups,
// expressions of computed columns.
//
// Promise    Immutable. Keys are made from the given values: computed columns are computed, missing
//            columns are null unless they are required.
// Threading  Any thread.
// Errors     kInvalidArgument: `No column "x" in table schema` (also for a computed one), a wrong
//            type, a required column that is null, a key that is too long.
// Tests      change_set_test.cpp, value_check_test.cpp.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "expression/expression.h"
#include "moraine/row.h"
#include "moraine/schema.h"
#include "table/model/value_check.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// Names of the locks of a row, by number: the primary one, which has no name, then the groups in
// the order of their first columns.
std::vector<std::string> lock_names(const TableSchema& schema);

class RowLayout {
 public:
  // Errors: those of check_schema for expressions.
  static Result<std::shared_ptr<const RowLayout>> make(std::shared_ptr<const TableSchema> schema);

  const TableSchema& schema() const { return *schema_; }
  const std::shared_ptr<const TableSchema>& shared_schema() const { return schema_; }
  std::size_t key_count() const { return key_count_; }

  // A column that may be given: it exists and is not computed.
  Result<ColumnIndex> find(std::string_view name) const;
  // A given value as it is stored in the column (value_check.h).
  Result<Value> to_cell(ColumnIndex column, const Value& value, const ValueRules& rules,
                        TextMemory& memory) const {
    const std::optional<LogicalType>& type = types_[column];
    return table::to_cell(schema_->columns[column], type ? &*type : nullptr, value, rules, memory);
  }
  // 0: the primary lock.
  std::size_t lock_of(ColumnIndex column) const { return locks_[column]; }
  // nullopt: no column has this lock.
  std::optional<std::size_t> find_lock(std::string_view name) const;
  // By number; the first is the primary one and has no name.
  const std::vector<std::string>& lock_names() const { return lock_names_; }

  // Completes the key columns in columns[0, key_count) and encodes them: checks required ones,
  // computes computed ones. Requires: cells as returned by to_cell().
  Result<std::string> encode_key_of(std::span<Value> columns, TextMemory& memory) const;

 private:
  explicit RowLayout(std::shared_ptr<const TableSchema> schema);

  std::shared_ptr<const TableSchema> schema_;
  std::size_t key_count_ = 0;
  absl::flat_hash_map<std::string_view, ColumnIndex> names_;
  std::vector<std::optional<LogicalType>> types_;  // Of columns with a type_v3.
  std::vector<std::size_t> locks_;
  std::vector<std::string> lock_names_;
  struct Computed {
    ColumnIndex column = 0;
    CompiledExpression expression;
  };
  std::vector<Computed> computed_;
};

// The key named by a lookup or a delete. Only key columns may be given.
Result<std::string> encode_lookup_key(const RowLayout& layout, NamedRow values,
                                      const ValueRules& rules = {});
// The same from the values of all key columns that are not computed, in order.
Result<std::string> encode_lookup_key(const RowLayout& layout, Key values,
                                      const ValueRules& rules = {});

}  // namespace moraine::table
