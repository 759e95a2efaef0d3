// Little-endian encoding for every on-disk and wire format, and a reader that never runs past its
// input.
//
// Promise    Decoder never reads out of bounds: after the first short read it stays failed() and
//            returns zeros, so a codec checks once at its end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"

namespace moraine {

static_assert(std::endian::native == std::endian::little, "formats are little-endian");

template <class T>
concept FixedInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <FixedInteger T>
inline void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}
template <FixedInteger T>
inline T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

class Encoder {
 public:
  template <FixedInteger T>
  Encoder& fixed(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    store(bytes_.data() + at, value);
    return *this;
  }
  Encoder& u8(std::uint8_t v) { return fixed(v); }
  Encoder& u16(std::uint16_t v) { return fixed(v); }
  Encoder& u32(std::uint32_t v) { return fixed(v); }
  Encoder& u64(std::uint64_t v) { return fixed(v); }
  Encoder& flag(bool v) { return u8(v ? 1 : 0); }
  Encoder& raw(ByteSpan bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  // u32 length, then the bytes.
  Encoder& sized(ByteSpan bytes) {
    return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes);
  }
  Encoder& sized(std::string_view text) { return sized(as_bytes(text)); }

  std::size_t size() const { return bytes_.size(); }
  ByteSpan span() const { return bytes_; }
  MutableByteSpan span() { return bytes_; }
  Slice slice() const { return Slice::copy_of(span()); }

 private:
  std::vector<std::byte> bytes_;
};

class Decoder {
 public:
  explicit Decoder(ByteSpan bytes) : bytes_(bytes) {}

  template <FixedInteger T>
  T fixed() {
    if (bytes_.size() - at_ < sizeof(T)) return fail<T>();
    const T value = load<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  // Anything but 0 and 1 fails: a format has one spelling per value.
  bool flag() {
    const std::uint8_t value = u8();
    if (value > 1) failed_ = true;
    return value == 1;
  }
  ByteSpan raw(std::size_t size) {
    if (bytes_.size() - at_ < size) {
      fail<int>();
      return {};
    }
    const ByteSpan part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  ByteSpan sized() { return raw(u32()); }
  // A u32 count of items that take at least `item_size_min` bytes each: a count that cannot fit in
  // what is left fails here, before anything is reserved for it.
  std::uint32_t count(std::size_t item_size_min) {
    const std::uint32_t value = u32();
    if (failed_ || value > remaining() / item_size_min) return fail<std::uint32_t>();
    return value;
  }

  std::size_t position() const { return at_; }
  std::size_t remaining() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }
  // True when everything was read and nothing was short: the usual last line of a codec.
  bool finished() const { return !failed_ && remaining() == 0; }

 private:
  template <class T>
  T fail() {
    failed_ = true;
    at_ = bytes_.size();
    return T{};
  }

  ByteSpan bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace moraine
