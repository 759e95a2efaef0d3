// KeyOrder: a number for each key, so that most comparisons of keys are comparisons of numbers.
//
// Promise    a < b as keys means word(a) <= word(b). decides(word): all keys with this word are
//            equal.
// Threading  Pure.
// Tests      key_order_test.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "moraine/schema.h"
#include "table/chunk/column_segment.h"
#include "table/model/key.h"

namespace moraine::table {

class KeyOrder {
 public:
  // `schema`: of the table.
  explicit KeyOrder(const TableSchema& schema)
      : type_(physical_type(schema.columns.front().type)), single_(schema.key_count() == 1) {}

  // Null shares its word with the least value.
  bool decides(std::uint64_t word) const { return single_ && !is_text_type(type_) && word != 0; }
  // Equal words mean equal first columns.
  bool decides_first(std::uint64_t word) const { return !is_text_type(type_) && word != 0; }

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
    if (key.size() < 2 || type_ == ValueType::kAny || type_ == ValueType::kNull) return 0;
    if (key[0] != static_cast<std::byte>(type_)) return 0;
    if (is_text_type(type_)) return of_text_bound(key.subspan(1));
    if (type_ == ValueType::kBoolean) return std::to_integer<std::uint64_t>(key[1]);
    const std::uint64_t word =
        of_text(as_text(key.subspan(1, std::min<std::size_t>(8, key.size() - 1))));
    // All that is above infinity is one value.
    return type_ == ValueType::kDouble && word > kInfinity ? ~std::uint64_t{0} : word;
  }

 private:
  static constexpr std::uint64_t kInfinity = std::uint64_t{0xfff0} << 48;

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
  bool single_;
};

}  // namespace moraine::table
