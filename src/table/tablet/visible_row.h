// VisibleRow: read_visible() of rows whose values may be hunks.
//
// Promise    Values are those of read_visible(); references to hunks are listed. Scalars that were
//            written before their column became `any` are returned as YSON.
// Threading  One thread at a time; memory is reused.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "table/model/merge.h"
#include "table/model/value_check.h"

namespace moraine::table {

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
