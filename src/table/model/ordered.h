// Ordered tables: tables without key columns, whose rows are numbered as they are appended.
//
// A row is stored under two key columns, the tablet that has it and its number there; the tablet
// numbers rows in the order of their commits (tablet/write/append.cpp). So reads of ordered tables
// are reads of sorted ones: by ranges of ($tablet_index, $row_index), and by these keys.
//
// Promise    Pure. Keys of one tablet are in the order of its rows. A schema may ask for two
//            columns that the tablet fills in: `$timestamp` (uint64), the commit timestamp of the
//            row, and `$cumulative_data_weight` (int64), the weight of this row and all before it.
// Limits     kTabletRowsMax rows of a tablet.
// Tests      ordered_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "moraine/schema.h"
#include "table/model/change.h"

namespace moraine::table {

inline constexpr std::string_view kTabletIndexColumn = "$tablet_index";
inline constexpr std::string_view kRowIndexColumn = "$row_index";
inline constexpr std::string_view kRowTimestampColumn = "$timestamp";
inline constexpr std::string_view kCumulativeWeightColumn = "$cumulative_data_weight";
inline constexpr std::uint64_t kTabletRowsMax = std::uint64_t{1} << 62;

// The schema by which rows are stored and read: with the two key columns. Requires: no key columns.
TableSchema ordered_schema(const TableSchema& schema);
// Is it such a schema?
bool is_ordered(const TableSchema& stored);

struct RowPlace {
  std::uint64_t tablet = 0;
  std::uint64_t row = 0;
  bool operator==(const RowPlace&) const = default;
};
std::string encode_place(const RowPlace& place);
// nullopt: not the key of a row.
std::optional<RowPlace> decode_place(ByteSpan key);
// The first key of the tablet; empty for the first one.
std::string tablet_pivot(std::uint64_t tablet);
// The tablet whose first key this is. nullopt: no tablet has it.
std::optional<std::uint64_t> tablet_of_pivot(std::string_view pivot);

// Replaces the cell of a column that is not a key, or adds it. Requires: check_image.
void set_cell(std::string& image, ColumnIndex column, const Value& value);
// 1, and for each value 8 for a number, 1 for a boolean, its length for a text. Cells of `skipped`
// columns do not count. Requires: check_image.
std::uint64_t data_weight(ByteSpan image, std::span<const ColumnIndex> skipped);

// How far a tablet is filled: rows, and their weight if the schema has that column.
struct RowEnd {
  std::uint64_t rows = 0;
  std::uint64_t weight = 0;
  bool operator==(const RowEnd&) const = default;
};

// The columns that a tablet fills in.
class FilledColumns {
 public:
  explicit FilledColumns(const TableSchema& stored);
  const std::optional<ColumnIndex>& weight() const { return weight_; }

  // Numbers the rows from `end` on; returns the end after them. Takes their locks away: rows that
  // are not there yet conflict with nothing. Requires: writes of one tablet.
  RowEnd place_rows(std::span<RowChange> changes, std::uint64_t tablet, RowEnd end) const;
  // The end after rows that place_rows() has placed.
  RowEnd end_after(std::span<const RowChange> changes) const;
  void stamp(std::span<RowChange> changes, Timestamp commit) const;

 private:
  std::optional<ColumnIndex> timestamp_;
  std::optional<ColumnIndex> weight_;
  std::vector<ColumnIndex> all_;
};

}  // namespace moraine::table
