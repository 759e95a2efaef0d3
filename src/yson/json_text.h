// Texts of JSON: the bytes that stand for themselves.
//
// Promise    Pure. Eight bytes at a time.
// Tests      json_text_test.cpp
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace moraine {

// Not a control character, a quote, a backslash, or a part of a longer character.
inline bool is_plain_json(char c) {
  return c >= ' ' && c != '"' && c != '\\';  // char is signed: bytes from 0x80 on are below ' '.
}

// The length of the beginning of `text` whose bytes are all plain.
inline std::size_t plain_json_length(std::string_view text) {
  static_assert(std::endian::native == std::endian::little && std::is_signed_v<char>);
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = kOnes * 0x80;
  std::size_t at = 0;
  for (; text.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t quotes = word ^ (kOnes * '"');
    const std::uint64_t backslashes = word ^ (kOnes * '\\');
    // The high bit of a byte is set for one that is not plain; bytes above the first of them may
    // have it without a reason.
    const std::uint64_t found = (((word - kOnes * ' ') & ~word) | ((quotes - kOnes) & ~quotes) |
                                 ((backslashes - kOnes) & ~backslashes) | word) &
                                kHighs;
    if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  }
  while (at < text.size() && is_plain_json(text[at])) ++at;
  return at;
}

}  // namespace moraine
