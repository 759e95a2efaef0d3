// ColumnBatch: rows as columns, for reading many of them.
//
// Promise    Plain data. Vectors are reused from batch to batch. Texts borrow memory that lives as
//            long as the batch, or until it is filled again.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "moraine/filter.h"
#include "moraine/value.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

inline constexpr std::size_t kBatchRowsMax = 4'096;

// Different texts that rows refer to by their places in it.
using TextTable = std::vector<std::string_view>;

struct ColumnVector {
  ValueType type = ValueType::kNull;
  // By type: bits of int64, uint64, double; 0 or 1 of boolean; unused for texts.
  std::vector<std::uint64_t> words;
  std::vector<std::string_view> texts;
  // One byte per row, 1: null. Empty: no nulls.
  std::vector<std::uint8_t> nulls;
  // If not null, which only scans that ask for it return: `texts` is empty, and the text of a row
  // is (*table)[codes[row]], also where it is null. Batches with the same table have the same
  // pointer as long as one of them is kept.
  std::shared_ptr<const TextTable> table{};
  std::vector<std::uint32_t> codes{};

  std::string_view text(std::size_t row) const { return table ? (*table)[codes[row]] : texts[row]; }
  void clear() {
    words.clear();
    texts.clear();
    nulls.clear();
    table.reset();
    codes.clear();
  }
};

struct ColumnBatch {
  std::size_t rows = 0;
  std::vector<ColumnVector> columns;  // In the requested order.
  std::vector<Slice> memory;          // Keeps texts alive.
};

// A Filter whose column is resolved and whose value has the column's type.
struct ColumnFilter {
  using Op = Filter::Op;
  ColumnIndex column = 0;
  Op op = Op::kEqual;
  Value value;
};
bool fits(const ColumnFilter& filter, const Value& value);

}  // namespace moraine::table
