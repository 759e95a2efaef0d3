#include "base/checksum.h"

#include <isa-l/crc.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <limits>

namespace moraine {
namespace {

// Polynomials over GF(2) modulo Castagnoli's, in the checksum's order of bits: bit 31 is x^0.
constexpr std::uint32_t kPolynomial = 0x82f63b78;
constexpr std::uint32_t kOne = 0x80000000;
constexpr std::uint32_t kByteShift = kOne >> 8;  // x^8: the checksum of one more zero byte.

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= b & (0u - ((a >> bit) & 1));
    b = (b >> 1) ^ (kPolynomial & (0u - (b & 1)));
  }
  return product;
}

constexpr std::uint32_t divide_by_x(std::uint32_t a) {
  return (a & kOne) != 0 ? ((a ^ kPolynomial) << 1) | 1 : a << 1;
}

// `first` times x^8 to the power of d * 16^k, at [k][d].
constexpr std::size_t kDigits = 16;
using Powers = std::array<std::array<std::uint32_t, 16>, kDigits>;
constexpr Powers make_powers(std::uint32_t first) {
  Powers powers{};
  std::uint32_t base = kByteShift;
  for (auto& row : powers) {
    std::uint32_t power = kOne;
    for (std::uint32_t& place : row) {
      place = multiply(power, first);
      power = multiply(power, base);
    }
    base = power;
  }
  return powers;
}
constexpr Powers kPowers = make_powers(kOne);

#if defined(__x86_64__)

// The processor's product of two polynomials, reduced by its checksum instruction, is their product
// times x^33: the powers are divided by that beforehand.
constexpr std::uint32_t divided_by_x33() {
  std::uint32_t divided = kOne;
  for (int i = 0; i < 33; ++i) divided = divide_by_x(divided);
  return divided;
}
constexpr Powers kDividedPowers = make_powers(divided_by_x33());

__attribute__((target("sse4.2,pclmul"))) std::uint32_t shift_fast(std::uint32_t crc,
                                                                  std::uint64_t bytes) {
  for (std::size_t digit = 0; bytes > 0; ++digit, bytes >>= 4) {
    if (const std::uint64_t d = bytes & 15; d > 0) {
      const __m128i product =
          _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(crc)),
                               _mm_cvtsi32_si128(static_cast<int>(kDividedPowers[digit][d])), 0);
      crc = static_cast<std::uint32_t>(
          _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product))));
    }
  }
  return crc;
}

const bool kFast = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");

#else

constexpr bool kFast = false;
std::uint32_t shift_fast(std::uint32_t crc, std::uint64_t) {
  return crc;
}

#endif

// The checksum of the same bytes followed by `bytes` zeros, without the inversions.
std::uint32_t shift(std::uint32_t crc, std::uint64_t bytes) {
  if (kFast) return shift_fast(crc, bytes);
  for (std::size_t digit = 0; bytes > 0; ++digit, bytes >>= 4) {
    if (const std::uint64_t d = bytes & 15; d > 0) crc = multiply(kPowers[digit][d], crc);
  }
  return crc;
}

}  // namespace

// ISA-L's function works on the inverted register and takes an int length.
std::uint32_t crc32c(ByteSpan bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  while (left > 0) {
    const auto step = static_cast<int>(
        std::min<std::size_t>(left, std::size_t{std::numeric_limits<int>::max()} / 2));
    state = crc32_iscsi(const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(at)),
                        step, state);
    at += step;
    left -= static_cast<std::size_t>(step);
  }
  return ~state;
}

std::uint32_t crc32c_combined(std::uint32_t first, std::uint32_t second,
                              std::uint64_t second_size) {
  return shift(first, second_size) ^ second;
}

}  // namespace moraine
