// Batches of columns that flow through an executor, and which of their rows count.
//
// Promise    Plain views: a Column borrows from a scan, from the kernel that computed it, or from a
//            RowStore, until that fills it again. Rows outside of the selection may have any
//            words, and texts that must not be read.
// Limits     A batch has at most kVectorRows rows.
// Threading  Plain data.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "moraine/value.h"
#include "table/model/column_batch.h"

namespace moraine::query {

inline constexpr std::size_t kVectorRows = table::kBatchRowsMax;

inline bool is_text(ValueType type) {
  return type == ValueType::kString || type == ValueType::kAny;
}

struct Column {
  ValueType type = ValueType::kNull;
  bool constant = false;                    // Element 0 is the value of every row.
  const std::uint64_t* words = nullptr;     // Numbers by their bits; booleans 0 or 1.
  const std::string_view* texts = nullptr;  // Of texts.
  const std::uint8_t* nulls = nullptr;      // 1: null. Null pointer: no nulls.
  // If not null, the text of a row is texts[codes[row]], also where it is null.
  const std::uint32_t* codes = nullptr;
  std::uint32_t table_size = 0;  // So many texts, then.
  std::uint64_t table_id = 0;    // Equal ids: equal texts.

  std::size_t at(std::size_t row) const { return constant ? 0 : row; }
  std::string_view text(std::size_t row) const {
    return texts[codes != nullptr ? codes[row] : at(row)];
  }
  bool is_null(std::size_t row) const { return nulls != nullptr && nulls[at(row)] != 0; }
  bool all_null() const { return constant && nulls != nullptr && nulls[0] != 0; }
  // Null rows do not have to be told apart.
  bool without_nulls() const { return nulls == nullptr || (constant && nulls[0] == 0); }
  Value value(std::size_t row) const;
};

struct Batch {
  std::size_t rows = 0;
  std::vector<Column> columns;
};

// Rows of a batch, ascending.
struct Selection {
  const std::uint32_t* rows = nullptr;  // Null pointer: rows 0 to count - 1.
  std::size_t count = 0;

  static Selection all(std::size_t count) { return {.rows = nullptr, .count = count}; }
  bool is_dense() const { return rows == nullptr; }
  std::uint32_t operator[](std::size_t i) const {
    return rows == nullptr ? static_cast<std::uint32_t>(i) : rows[i];
  }
};

template <class F>
inline void for_each(const Selection& selection, F&& f) {
  if (selection.rows == nullptr) {
    for (std::size_t i = 0; i < selection.count; ++i) f(i);
  } else {
    for (std::size_t i = 0; i < selection.count; ++i) f(std::size_t{selection.rows[i]});
  }
}

// Room for the rows of a selection.
class SelectionBuffer {
 public:
  // The pointer stays the same.
  std::uint32_t* rows() {
    if (!rows_) rows_ = std::make_unique_for_overwrite<std::uint32_t[]>(kVectorRows);
    return rows_.get();
  }

 private:
  std::unique_ptr<std::uint32_t[]> rows_;
};

// Memory of one computed column.
class ColumnBuffer {
 public:
  std::uint64_t* words() { return room(words_); }
  std::string_view* texts() { return room(texts_); }
  std::uint8_t* nulls() { return room(nulls_); }
  std::uint32_t* codes() { return room(codes_); }

 private:
  template <class T>
  T* room(std::unique_ptr<T[]>& memory) {
    if (!memory) memory = std::make_unique<T[]>(kVectorRows);
    return memory.get();
  }
  std::unique_ptr<std::uint64_t[]> words_;
  std::unique_ptr<std::string_view[]> texts_;
  std::unique_ptr<std::uint8_t[]> nulls_;
  std::unique_ptr<std::uint32_t[]> codes_;
};

// Different at each call; never 0.
std::uint64_t new_table_id();
// The bits of a number or boolean.
std::uint64_t word_of_value(const Value& value);
Value value_of_word(ValueType type, std::uint64_t word);

// Words in the order of their values.
inline std::uint64_t ordered(ValueType type, std::uint64_t word) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  if (type == ValueType::kInt64) return word ^ kSign;
  if (type != ValueType::kDouble) return word;
  if (word == kSign) word = 0;  // -0.0 equals 0.0.
  return (word & kSign) != 0 ? ~word : word | kSign;
}

}  // namespace moraine::query
