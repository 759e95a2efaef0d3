// The rows that both sides store: a 16-byte key with a 100-byte value, and a row of ten columns.
//
// Promise    The same number and version give the same bytes on every run. Keys of consecutive
//            numbers are scattered; numbers beyond the loaded ones give keys between the existing
//            ones. Values compress to about half, as those of db_bench do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moraine::bench {

inline constexpr std::size_t kKeyBytes = 16;
inline constexpr std::size_t kValueBytes = 100;
inline constexpr std::uint64_t kRowBytes = kKeyBytes + kValueBytes;

struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Cheap pseudo-random numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    return mix(state_);
  }
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Different for each number.
  static std::uint64_t mix(std::uint64_t number) {
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
  }

 private:
  std::uint64_t state_;
};

// 16 hexadecimal digits.
class KeyText {
 public:
  KeyText() = default;
  static KeyText scattered(std::uint64_t number) { return KeyText(Dice::mix(number + 1)); }
  static KeyText growing(std::uint64_t number) { return KeyText(number); }
  std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  explicit KeyText(std::uint64_t number) {
    for (std::size_t i = kKeyBytes; i-- > 0; number >>= 4)
      text_[i] = "0123456789abcdef"[number & 15];
  }
  std::array<char, kKeyBytes> text_{};
};

class ValueText {
 public:
  ValueText(std::uint64_t number, std::uint64_t version);
  std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  std::array<char, kValueBytes> text_;
};

// Eight numbers, the key among them, and two texts.
struct WideRow {
  static constexpr std::size_t kNumbers = 7;
  static constexpr std::size_t kSummed = 2;  // The number that is summed; below a million.

  std::int64_t id = 0;
  std::array<std::int64_t, kNumbers> numbers{};
  std::string_view city;
  std::string_view comment;
};

class WideRowMaker {
 public:
  // Lives until the next call.
  const WideRow& make(std::uint64_t number);

 private:
  WideRow row_;
  std::array<char, 24> comment_{};
};

// One value with all columns except the key, as users of a key-value store write it: numbers as
// variable-length integers, texts with their length before them.
void encode_wide(const WideRow& row, std::string& out);
// Texts live as long as the bytes.
Result<void> decode_wide(std::string_view bytes, WideRow& row);

}  // namespace moraine::bench
