// ReadColumns: where the columns of a result come from: the key, or the row's values.
//
// Promise    Plain data; prepare() does nothing when called again with the same columns.
// Errors     kInvalidArgument: no such column.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

struct ReadColumns {
  struct KeyCell {
    std::uint32_t at = 0;  // Position in the result.
    std::uint32_t column = 0;
  };
  std::vector<ColumnIndex> asked;
  std::vector<KeyCell> keys;
  std::vector<ColumnIndex> values;      // Value columns, in the order of the result.
  std::vector<std::uint32_t> value_at;  // Position of each in the result.
  bool adjacent = false;                // They are adjacent there, in order.

  Result<void> prepare(std::span<const ColumnIndex> columns, const TableSchema& schema);
  // Null: all.
  const ColumnSet* wanted() const { return all_ ? nullptr : &set_; }
  std::size_t key_count() const { return key_count_; }

 private:
  std::size_t schema_columns_ = 0;
  std::size_t key_count_ = 0;
  bool all_ = false;
  ColumnSet set_;
};

}  // namespace moraine::table
