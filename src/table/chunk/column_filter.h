// ColumnTest: a set of values of one column, prepared for testing many rows.
//
// Promise    may_pass() is false only when no value within the range is in the set. test() keeps
//            the rows whose value is in it; with a table of texts each entry is tested once.
// Limits     Texts of the set must outlive the test.
// Threading  Immutable.
// Tests      chunk_column_test.cpp.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "table/chunk/chunk_meta.h"
#include "table/model/column_batch.h"
#include "table/model/value_set.h"

namespace moraine::table {

class ColumnTest {
 public:
  // `type`: of the column.
  ColumnTest(const ValueSet& set, ValueType type);

  bool passes_null() const { return null_; }
  bool may_pass(const ColumnRange& range) const;
  // Clears the bytes of rows that do not pass; `mask` has a byte, 0 or 1, of each row.
  void test(const ColumnVector& column, std::span<std::uint8_t> mask) const;

 private:
  // Both included; words in the order of their values.
  struct WordInterval {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  struct TextInterval {
    std::string_view from;
    std::string_view to;
    bool after_from = false;  // `from` itself is not contained.
    bool after_to = false;    // `to` itself is contained.
    bool unbounded = false;   // No `to`.
  };

  void add_words(const ValueInterval& interval);
  void add_texts(const ValueInterval& interval);
  void collect_points();
  bool has_word(std::uint64_t word) const;
  bool has_text(std::string_view text) const;
  bool may_pass_texts(const ColumnRange& range) const;
  void test_words(const ColumnVector& column, std::span<std::uint8_t> mask) const;
  void test_texts(const ColumnVector& column, std::span<std::uint8_t> mask) const;
  template <class Passes>
  void keep(const ColumnVector& column, std::span<std::uint8_t> mask, Passes passes) const;

  ValueType type_;
  bool null_ = false;
  std::vector<WordInterval> words_;
  std::vector<TextInterval> texts_;
  // Of a long list of single values: the same as the intervals.
  absl::flat_hash_set<std::uint64_t> word_points_;
  absl::flat_hash_set<std::string_view> text_points_;
};

// The numbers of the bytes that are 1, ascending.
void list_rows(std::span<const std::uint8_t> mask, std::vector<std::uint32_t>& rows);
// Keeps the given rows of a column, in order.
void gather(ColumnVector& column, std::span<const std::uint32_t> rows);
// Replaces codes, if there are any, by their texts.
void look_up_texts(ColumnVector& column);
// The value of one row.
Value value_at(const ColumnVector& column, std::size_t row);

}  // namespace moraine::table
