// FieldWriter: writes fields, little-endian, into memory of the right size, without growing it.
//
// Promise    The same bytes as Encoder (base/coding.h); each byte of a body is copied once.
// Requires   The caller has computed the size: nothing is checked here.
// Tests      base_test.cpp.
#pragma once

#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "base/coding.h"

namespace moraine {

class FieldWriter {
 public:
  explicit FieldWriter(std::byte* to) : begin_(to), at_(to) {}

  FieldWriter& u8(std::uint8_t value) { return fixed(value); }
  FieldWriter& u32(std::uint32_t value) { return fixed(value); }
  FieldWriter& u64(std::uint64_t value) { return fixed(value); }
  // u32 length, then the bytes.
  FieldWriter& sized(ByteSpan bytes) {
    u32(static_cast<std::uint32_t>(bytes.size()));
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
    return *this;
  }
  FieldWriter& sized(std::string_view text) { return sized(as_bytes(text)); }
  // The next `size` bytes, for the caller to fill.
  std::byte* skip(std::size_t size) {
    std::byte* const skipped = at_;
    at_ += size;
    return skipped;
  }

  std::byte* position() const { return at_; }
  ByteSpan written() const { return {begin_, at_}; }

 private:
  template <FixedInteger T>
  FieldWriter& fixed(T value) {
    store(at_, value);
    at_ += sizeof(T);
    return *this;
  }

  std::byte* const begin_;
  std::byte* at_;
};

}  // namespace moraine
