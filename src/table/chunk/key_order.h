// KeyOrder: a number for each key, so that most comparisons of keys are comparisons of numbers.
//
// Where the ranges of several leading columns of integers are known and fit together into 64 bits,
// a word is made of a field for each:
//
//   field = 0 null | 1 below the range | 2 + value - least | the last one: above the range
//
// with zeros after a field that is below or above. Otherwise it is made from the first column.
//
// Promise    a < b as keys means word(a) <= word(b). All keys with this word are equal in
//            decided(word) leading columns; decides(word): in all.
// Threading  Pure.
// Tests      key_order_test.cpp, table/tablet/read/column_merge_test.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "moraine/schema.h"
#include "table/chunk/column_segment.h"
#include "table/model/key.h"

namespace moraine::table {

// What a key column of integers may be, as ordered words.
struct KeyColumnRange {
  bool values = false;  // Others than null.
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;
};

class KeyOrder {
 public:
  // Of a leading column.
  struct Field {
    ValueType type = ValueType::kNull;
    unsigned shift = 0;
    std::uint64_t least = 0;
    std::uint64_t span = 0;
    std::uint64_t mask = 0;

    // Requires: an ordered word.
    std::uint64_t of(std::uint64_t word) const {
      if (word < least) return kBelow;
      return std::min(word - least, span + 1) + kFirst;
    }
    bool decides(std::uint64_t field) const { return field != kBelow && field != span + kAbove; }
  };
  static constexpr std::uint64_t kBelow = 1;
  static constexpr std::uint64_t kFirst = 2;
  static constexpr std::uint64_t kAbove = kFirst + 1;  // More than the span.

  // `schema`: of the table. `ranges`: of leading key columns; may be fewer. Words of different
  // ranges are not comparable.
  explicit KeyOrder(const TableSchema& schema, std::span<const KeyColumnRange> ranges = {});

  // Null shares its word with the least value of a first column that has no field.
  std::size_t decided(std::uint64_t word) const {
    if (fields_.empty()) return !is_text_type(type_) && word != 0 ? 1 : 0;
    std::size_t columns = 0;
    for (const Field& field : fields_) {
      if (!field.decides(word >> field.shift & field.mask)) break;
      ++columns;
    }
    return columns;
  }
  bool decides(std::uint64_t word) const { return decided(word) == key_columns_; }
  // Empty: words are made from the first column alone.
  std::span<const Field> fields() const { return fields_; }

  // Without fields: of the first column's word.
  std::uint64_t of_word(std::uint64_t word) const { return ordered_word(type_, word); }
  static std::uint64_t of_text(std::string_view text) {
    std::uint64_t word = 0;
    if (text.size() >= sizeof(word)) [[likely]] {
      std::memcpy(&word, text.data(), sizeof(word));
    } else if (!text.empty()) {
      std::memcpy(&word, text.data(), text.size());
    }
    return std::byteswap(word);
  }
  std::uint64_t of(const Value& first) const {
    if (first.is_null() || type_ == ValueType::kAny) return 0;
    return first.has_text() ? of_text(first.text()) : of_word(word_of(first));
  }
  // Of an encoded key, or of a bound that is cut anywhere: not above the word of any key at or
  // above it.
  std::uint64_t of_bound(ByteSpan key) const {
    if (!fields_.empty()) return of_fields(key);
    if (key.size() < 2 || type_ == ValueType::kAny || type_ == ValueType::kNull) return 0;
    if (key[0] != static_cast<std::byte>(type_)) return 0;
    if (is_text_type(type_)) return of_text_bound(key.subspan(1));
    if (type_ == ValueType::kBoolean) return std::to_integer<std::uint64_t>(key[1]);
    const std::uint64_t word = beginning(key.subspan(1));
    // All that is above infinity is one value.
    return type_ == ValueType::kDouble && word > kInfinity ? ~std::uint64_t{0} : word;
  }

 private:
  static constexpr std::uint64_t kInfinity = std::uint64_t{0xfff0} << 48;

  // Big-endian; zeros where there are no bytes.
  static std::uint64_t beginning(ByteSpan bytes) {
    return of_text(as_text(bytes.first(std::min<std::size_t>(8, bytes.size()))));
  }
  std::uint64_t of_fields(ByteSpan key) const;
  // Without escapes and the end mark.
  static std::uint64_t of_text_bound(ByteSpan escaped) {
    char text[8] = {};
    std::size_t size = 0;
    for (std::size_t i = 0; i < escaped.size() && size < sizeof(text); ++i) {
      if (escaped[i] == std::byte{0}) {
        if (i + 1 >= escaped.size() || escaped[i + 1] != std::byte{0xff}) break;
        ++i;
        text[size++] = '\0';
      } else {
        text[size++] = std::to_integer<char>(escaped[i]);
      }
    }
    return of_text({text, size});
  }

  ValueType type_;
  std::size_t key_columns_;
  std::vector<Field> fields_;
};

}  // namespace moraine::table
