// ColumnBatch: rows as columns, for reading many of them.
//
// Promise    Plain data. Vectors are reused from batch to batch. Texts borrow memory that lives as
//            long as the batch, or until it is filled again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "moraine/filter.h"
#include "moraine/value.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

inline constexpr std::size_t kBatchRowsMax = 4'096;

struct ColumnVector {
  ValueType type = ValueType::kNull;
  // By type: bits of int64, uint64, double; 0 or 1 of boolean; unused for texts.
  std::vector<std::uint64_t> words;
  std::vector<std::string_view> texts;
  // One byte per row, 1: null. Empty: no nulls.
  std::vector<std::uint8_t> nulls;

  void clear() {
    words.clear();
    texts.clear();
    nulls.clear();
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
