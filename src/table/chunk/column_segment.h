// Column segments: the values of one column in one row group.
//
// clang-format off
//   segment    = version u8 = 1  encoding u8  flags u8 (1 nulls, 2 absents)  type u8
//                [null bits]  [absent bits]  payload     a bit of each row
//   payload    of kEmpty      nothing: no row has a value
//              of kWords      words                       by row; without a value: anything
//              of kRuns       ends words, values words    run i goes up to row ends[i]
//              of kWordTable  values words, index words   by row the place in the table
//              of kTexts      texts                       by row
//              of kTextTable  texts, index words
//   texts      = ends words  bytes varint size, bytes
// clang-format on
//
// Numbers are words: int64 and uint64 as they are, doubles by their bits, booleans 0 or 1.
//
// Promise    ColumnSegmentView::open() accepts nothing that the view could not read safely.
// Limits     kWordsMax rows, 4 GiB of texts.
// Threading  Pure; a view of immutable bytes with kBitsPadding readable bytes after them.
// Tests      column_segment_test.cpp, chunk_block_fuzz.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/chunk/chunk_meta.h"
#include "table/chunk/words.h"
#include "table/model/column_batch.h"
#include "table/model/value_word.h"

namespace moraine::table {

// Numbers only: maps words to words in the order of their values.
std::uint64_t ordered_word(ValueType type, std::uint64_t word);
inline bool is_text_type(ValueType type) {
  return type == ValueType::kString || type == ValueType::kAny;
}

class ColumnSegmentBuilder {
 public:
  explicit ColumnSegmentBuilder(ValueType type) : type_(type) {}

  // Requires: a value of the type, or null.
  void add(const Value& value);
  void add_null() { add_mark(nulls_, kNullMark); }
  void add_absent() { add_mark(absents_, kAbsentMark); }
  std::size_t rows() const { return marks_.size(); }
  ColumnRange range() const;
  // Returns the segment; the builder is empty afterwards.
  std::string finish();

 private:
  enum Mark : std::uint8_t { kValueMark, kNullMark, kAbsentMark };
  void add_mark(std::size_t& count, Mark mark);
  std::string_view text(std::size_t row) const;
  std::uint8_t append_words_payload(std::string& out) const;
  std::uint8_t append_texts_payload(std::string& out) const;

  const ValueType type_;
  std::vector<std::uint8_t> marks_;
  std::size_t nulls_ = 0;
  std::size_t absents_ = 0;
  std::vector<std::uint64_t> words_;  // Or ends of texts.
  std::string texts_;
};

class ColumnSegmentView {
 public:
  // `check`: also checks the payload; needed once for bytes of unknown origin.
  static Result<ColumnSegmentView> open(ByteSpan bytes, std::uint32_t rows, ValueType type,
                                        bool check);

  std::uint32_t rows() const { return rows_; }
  bool is_null(std::size_t row) const { return bit(nulls_, row); }
  bool is_absent(std::size_t row) const { return bit(absents_, row); }
  // Null when it is null or absent.
  Value get(std::size_t row) const;
  // All rows. `codes`: texts that are stored as a table are returned as one.
  void decode(ColumnVector& out, bool codes = false) const;
  // The given rows, in that order.
  void decode_rows(std::span<const std::uint32_t> rows, ColumnVector& out, bool codes) const;
  bool has_absents() const { return absents_ != nullptr; }

  enum Encoding : std::uint8_t { kEmpty, kWords, kRuns, kWordTable, kTexts, kTextTable };
  static constexpr std::uint8_t kVersion = 1;

 private:
  static bool bit(const std::byte* bits, std::size_t i) {
    return bits != nullptr && (static_cast<unsigned>(bits[i / 8]) >> (i % 8) & 1) != 0;
  }
  bool take_payload(VarintReader& in);
  bool check_payload() const;
  std::string_view text(std::size_t place) const;
  std::uint64_t word(std::size_t row) const;
  void decode_words(std::vector<std::uint64_t>& out) const;
  void decode_texts(std::vector<std::string_view>& out) const;
  std::shared_ptr<const TextTable> text_table() const;

  std::uint32_t rows_ = 0;
  ValueType type_ = ValueType::kNull;
  Encoding encoding_ = kEmpty;
  const std::byte* nulls_ = nullptr;
  const std::byte* absents_ = nullptr;
  WordsView first_;   // Words, ends of runs or texts, values of a table.
  WordsView second_;  // Values of runs, places in a table.
  ByteSpan texts_;
};

}  // namespace moraine::table
