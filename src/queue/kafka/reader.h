// Reader: decodes the protocol's primitive types from untrusted bytes.
//
// Promise    Never reads past its input. After the first problem it returns zeros and empty spans,
//            so a codec checks failed() once at its end; problem() is the first problem.
// Format     Integers are big-endian. A varint has 7 bits a byte, low group first; signed ones are
//            zig-zag. More than 5 bytes (10 for 64 bits), or bits past the width, are a problem.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/coding.h"

namespace moraine::kafka {

template <FixedInteger T>
inline T load_big(const std::byte* from) {
  return std::byteswap(load<T>(from));
}
template <FixedInteger T>
inline void store_big(std::byte* to, T value) {
  store(to, std::byteswap(value));
}

class Reader {
 public:
  explicit Reader(ByteSpan input) : input_(input), end_(input.size()) {}

  template <FixedInteger T>
  T fixed() {
    if (remaining() < sizeof(T)) {
      wrong("the input is short");
      return T{};
    }
    const T value = load_big<T>(input_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  std::uint32_t uvarint();
  std::int32_t varint();
  std::int64_t varlong();
  ByteSpan raw(std::size_t size) {
    if (remaining() < size) {
      wrong("the input is short");
      return {};
    }
    const ByteSpan part = input_.subspan(at_, size);
    at_ += size;
    return part;
  }

  // Until widen(), the input ends `size` bytes from here. Returns what widen() needs.
  std::size_t narrow(std::size_t size);
  void widen(std::size_t end) {
    if (!failed()) end_ = end;
  }

  std::size_t position() const { return at_; }
  std::size_t remaining() const { return end_ - at_; }
  // `problem` is a literal; the first one stays.
  void wrong(std::string_view problem) {
    if (!failed()) problem_ = problem;
    end_ = at_;
  }
  bool failed() const { return !problem_.empty(); }
  std::string_view problem() const { return problem_; }

 private:
  std::uint64_t base128(int bits);

  ByteSpan input_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::string_view problem_;
};

}  // namespace moraine::kafka
