// Words: many 64-bit numbers in few bits each, with random access.
//
// clang-format off
//   words = count u32  part*  bits of each part, to a whole byte
//   part  = base u64  step u64  at u32  width u8  zero * 3
//           kWordsPart numbers each, the last one fewer; `at` counts from the first part's bits
//   number i of a part = base + step * i + `width` bits at bit i * width, modulo 2^64
// clang-format on
//
// Promise    WordsView::take() accepts nothing on which get() or decode() would read past the bytes
//            and kBitsPadding more.
// Limits     kWordsMax numbers.
// Threading  Pure; a view of immutable bytes.
// Tests      column_segment_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "table/chunk/varint.h"

namespace moraine::table {

inline constexpr std::size_t kWordsPart = 512;
inline constexpr std::size_t kWordsMax = std::size_t{1} << 20;

// `is_signed`: whether the numbers are close to each other as signed ones.
void append_words(std::string& out, std::span<const std::uint64_t> words, bool is_signed);

class WordsView {
 public:
  // False: the bytes are not words.
  bool take(VarintReader& in);

  std::uint32_t size() const { return count_; }
  std::uint64_t get(std::size_t i) const {
    const std::byte* part = parts_ + i / kWordsPart * kPartBytes;
    const std::size_t inside = i % kWordsPart;
    const auto width = static_cast<unsigned>(part[kWidthAt]);
    const std::byte* bits = bits_ + load<std::uint32_t>(part + 16);
    return load<std::uint64_t>(part) + load<std::uint64_t>(part + 8) * inside +
           get_bits(bits, inside * width, width);
  }
  // All of them. Requires: room for size().
  void decode(std::uint64_t* out) const;
  // Their low halves.
  void decode(std::uint32_t* out) const;

  static constexpr std::size_t kPartBytes = 24;
  static constexpr std::size_t kWidthAt = 20;

 private:
  std::uint32_t count_ = 0;
  const std::byte* parts_ = nullptr;
  const std::byte* bits_ = nullptr;
};

}  // namespace moraine::table
