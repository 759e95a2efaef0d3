// How lookups and scans make a row of their result: ReadColumns, where its columns come from, and
// VisibleRow, read_visible() of rows whose values may be hunks.
//
// Promise    Values are those of read_visible(); references to hunks are listed. Scalars that were
//            written before their column became `any` are returned as YSON.
// Threading  One thread at a time; memory is reused.
// Errors     kInvalidArgument: no such column.
// Tests      tablet_lookup_test.cpp, tablet_scan_test.cpp, widened_columns_test.cpp.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "table/model/merge.h"
#include "table/model/value_check.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// Where each column of a result comes from: the key, or the row's values. prepare() does nothing
// when called again with the same columns.
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

class VisibleRow {
 public:
  // False: the row does not exist. Folded texts are in `memory`. `has_any`: the schema has columns
  // of type any.
  bool read(const VersionedRow& row, Timestamp timestamp, Timestamp retention_timestamp,
            const TableSchema& schema, bool has_any, std::span<const ColumnIndex> wanted,
            Value* out, TextMemory& memory) {
    hunks_.clear();
    if (!std::ranges::any_of(row.values, &VersionedValue::hunk)) {
      if (!read_visible(row, timestamp, retention_timestamp, schema, wanted, out, memory)) {
        return false;
      }
      if (has_any) wrap_scalars(schema, wanted, out, memory);
      return true;
    }
    cells_.resize(wanted.size());
    if (!read_visible(row, timestamp, retention_timestamp, schema, wanted, cells_.data(), memory)) {
      return false;
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      out[i] = cells_[i].value;
      if (cells_[i].hunk) hunks_.push_back(static_cast<std::uint32_t>(i));
    }
    if (has_any) wrap_scalars(schema, wanted, out, memory);
    return true;
  }
  // Which values of the last row are references, by position.
  const std::vector<std::uint32_t>& hunks() const { return hunks_; }

 private:
  void wrap_scalars(const TableSchema& schema, std::span<const ColumnIndex> wanted, Value* out,
                    TextMemory& memory) const {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (out[i].is_null() || out[i].type() == ValueType::kAny) continue;
      if (schema.columns[wanted[i]].type != ColumnType::kAny) continue;
      const bool hunk = std::ranges::find(hunks_, i) != hunks_.end();
      if (!hunk) out[i] = as_any(out[i], memory);
    }
  }

  std::vector<VisibleCell> cells_;
  std::vector<std::uint32_t> hunks_;
};

}  // namespace moraine::table
