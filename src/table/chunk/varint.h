// Varints: unsigned numbers of 7 bits a byte, lowest first; signed ones zigzag.
//
// Promise    VarintReader never reads past its input: after the first short or overlong read it
//            stays failed() and returns zeros. get_varint() is for bytes that were checked before.
// Threading  Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/coding.h"

namespace moraine::table {

inline constexpr std::size_t kVarintBytesMax = 10;

inline void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
template <FixedInteger T>
void put_fixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
inline void put_sized(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out.append(text);
}

constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

// Requires: a whole varint at `at`.
inline std::uint64_t get_varint(const std::byte*& at) {
  std::uint64_t byte = static_cast<std::uint8_t>(*at++);
  if (byte < 0x80) [[likely]]
    return byte;
  std::uint64_t value = byte & 0x7f;
  for (unsigned shift = 7; shift < 64; shift += 7) {
    byte = static_cast<std::uint8_t>(*at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

class VarintReader {
 public:
  explicit VarintReader(ByteSpan bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      const auto byte = static_cast<std::uint8_t>(*at_++);
      if (shift == 63 && byte > 1) return fail();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  // A varint of at most `max`.
  std::uint64_t varint(std::uint64_t max) {
    const std::uint64_t value = varint();
    return value > max ? fail() : value;
  }
  template <FixedInteger T>
  T fixed() {
    const ByteSpan bytes = raw(sizeof(T));
    return failed_ ? T{} : load<T>(bytes.data());
  }
  ByteSpan raw(std::size_t size) {
    if (size > remaining()) {
      fail();
      return {};
    }
    const ByteSpan part(at_, size);
    at_ += size;
    return part;
  }
  ByteSpan sized() { return raw(varint()); }

  const std::byte* at() const { return at_; }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && at_ == end_; }
  std::uint64_t fail() {
    failed_ = true;
    at_ = end_;
    return 0;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool failed_ = false;
};

// `width` bits from bit `bit` on. Requires: width <= 64, 9 readable bytes from the first one.
inline std::uint64_t get_bits(const std::byte* from, std::uint64_t bit, unsigned width) {
  if (width == 0) return 0;
  const std::byte* at = from + bit / 8;
  const auto shift = static_cast<unsigned>(bit % 8);
  std::uint64_t value = load<std::uint64_t>(at) >> shift;
  if (shift + width > 64) {
    value |= static_cast<std::uint64_t>(at[8]) << (64 - shift);
  }
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}
inline constexpr std::size_t kBitsPadding = 9;

// Appends numbers of few bits, one after another.
class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(&out) {}
  // Requires: value < 2^width, width <= 64.
  void put(std::uint64_t value, unsigned width) {
    for (unsigned done = 0; done < width;) {
      const unsigned part = std::min(width - done, 8 - filled_);
      const std::uint64_t bits = value >> done & ((1u << part) - 1);
      last_ = static_cast<std::uint8_t>(last_ | bits << filled_);
      filled_ += part;
      done += part;
      if (filled_ == 8) finish();
    }
  }
  // Fills the last byte up with zeros.
  void finish() {
    if (filled_ == 0) return;
    out_->push_back(static_cast<char>(last_));
    last_ = 0;
    filled_ = 0;
  }

 private:
  std::string* out_;
  unsigned filled_ = 0;
  std::uint8_t last_ = 0;
};

}  // namespace moraine::table
