// GroupPatch: whole rows of other stores that take the places of a group's rows.
//
// An entry is such a row; columns are those of the group's cursor, by their positions there.
//
// Promise    apply() changes a decoded column as if the group had been written with the entries'
//            values. Keys stay as they are. A place has one entry.
// Threading  One thread at a time.
// Limits     An entry for each row of the group.
// Tests      table/tablet/read/column_merge_test.cpp.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "table/model/column_batch.h"

namespace moraine::table {

class GroupPatch {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Begins another group.
  void begin(std::uint32_t rows) {
    rows_ = rows;
    if (places_.empty()) return;
    places_.clear();
    times_.clear();
    blocks_.clear();
    last_blocks_ = nullptr;
    for (Column& column : columns_) column.clear();
  }

  bool empty() const { return places_.empty(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.size()); }
  // The entry of a row of the group, or kNone.
  std::uint32_t find(std::uint32_t row) const { return empty() ? kNone : entries_[row]; }
  std::uint32_t place(std::uint32_t entry) const { return places_[entry]; }
  Timestamp time(std::uint32_t entry) const { return times_[entry]; }

  // The entry of the row from now on, a new one or its present one. Its values are to be set.
  std::uint32_t put(std::uint32_t row, Timestamp time);
  void set(std::size_t column, std::uint32_t entry, ValueType type, const Value& value);
  // Rows of `from`, one for each of the entries.
  void set(std::size_t column, std::span<const std::uint32_t> entries,
           std::span<const std::uint32_t> rows, const ColumnVector& from);
  // The column's values by entry; without codes.
  const ColumnVector& values(std::size_t column) const { return columns_[column].values; }

  // Puts all values into the whole column of the group, or those of some entries.
  void apply(std::size_t column, ColumnVector& to);
  void apply(std::size_t column, std::span<const std::uint32_t> entries, ColumnVector& to);
  // The same for a column that has only these rows of the group, without codes.
  void apply_to_rows(std::size_t column, std::span<const std::uint32_t> rows,
                     ColumnVector& to) const;

  // Blocks that texts of entries point into; those of one group, as they are.
  void keep(const std::vector<Slice>& blocks);
  const std::vector<Slice>& blocks() const { return blocks_; }

 private:
  struct Column {
    ColumnVector values;
    bool any_null = false;
    // Of a column of codes: the group's table with the entries' texts. Texts of small tables are
    // found, those of others are added without looking for them.
    std::shared_ptr<TextTable> table;
    bool searched = false;
    absl::flat_hash_map<std::string_view, std::uint32_t> codes;

    void clear() {
      values.clear();
      any_null = false;
      table.reset();
      codes.clear();
    }
  };

  Column& column(std::size_t column, ValueType type);
  template <class EntryOf>
  void apply(Column& from, std::size_t count, EntryOf entry_of, ColumnVector& to);
  static void begin_codes(Column& from, ColumnVector& to);
  static std::uint32_t code_of(Column& from, std::string_view text);

  std::uint32_t rows_ = 0;
  std::vector<std::uint32_t> entries_;  // By row of the group; only if there are any.
  std::vector<std::uint32_t> places_;   // By entry: its row.
  std::vector<Timestamp> times_;
  std::vector<Column> columns_;
  std::vector<Slice> blocks_;
  const void* last_blocks_ = nullptr;  // Whose blocks were kept last.
};

}  // namespace moraine::table
