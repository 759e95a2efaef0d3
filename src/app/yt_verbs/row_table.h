// RowTable: rows as an aligned table for people.
//
// clang-format off
//   table = heads line { row }     numbers right-aligned; null is `null`; lists and maps are YSON
//   strings are shown as they are, control bytes and bytes that are no UTF-8 as \xHH
// clang-format on
//
// Promise    Columns appear in the order in which rows bring them. Widths come from the first
//            kTableBatchRows rows and grow with later batches; a new column repeats the heads.
// Limits     kTableBatchRows rows are held; cells longer than kCellCharactersMax are cut, with `…`.
// Tests      row_table_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/yt_client/body.h"
#include "yson/reader.h"
#include "yson/yson.h"

namespace moraine::app {

inline constexpr std::size_t kTableBatchRows = 1000;
inline constexpr std::size_t kCellCharactersMax = 100;

class RowTable {
 public:
  explicit RowTable(BodySink print) : print_(std::move(print)) {}
  Result<void> add(const YsonNode& row);
  // Prints what is held.
  Result<void> finish();
  std::uint64_t rows() const { return rows_; }

 private:
  struct Column {
    std::string name;
    std::size_t width;
  };
  struct Cell {
    std::string text;
    bool number = false;
  };
  std::size_t column(std::string_view name);

  const BodySink print_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> held_;
  std::size_t shown_columns_ = 0;
  std::uint64_t rows_ = 0;
};

// Rows in YSON, in pieces, for a table.
class RowReader {
 public:
  explicit RowReader(RowTable& table) : table_(table) {}
  Result<void> feed(std::string_view piece);
  Result<void> finish();

 private:
  Result<void> read();

  RowTable& table_;
  YsonReader reader_{YsonDocument::kListFragment};
  YsonTreeBuilder builder_;
};

// One cell, of at most `characters`.
std::string cell_text(const YsonNode& node, std::size_t characters = kCellCharactersMax);
// How many characters it takes.
std::size_t text_width(std::string_view text);

}  // namespace moraine::app
