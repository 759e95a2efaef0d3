// The rows of the HTTP benchmark: a key of 16 hexadecimal digits and a text of 100 letters.
//
// Promise    The same number gives the same row on every run; keys of consecutive numbers are
//            scattered.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bench/tables/rows.h"

namespace moraine::bench {

inline constexpr std::size_t kBenchValueBytes = 100;

class BenchRow {
 public:
  explicit BenchRow(std::uint64_t number) : key_(KeyText::scattered(number)) {
    constexpr std::string_view kLetters =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    Dice dice(number);
    for (char& letter : value_) letter = kLetters[dice.next() % kLetters.size()];
  }

  std::string_view key() const { return key_.view(); }
  std::string_view value() const { return {value_.data(), value_.size()}; }

 private:
  KeyText key_;
  std::array<char, kBenchValueBytes> value_;
};

}  // namespace moraine::bench
