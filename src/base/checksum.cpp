#include "base/checksum.h"

#include <isa-l/crc.h>

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

// x^8 to the power of d * 16^k, at [k][d].
constexpr std::size_t kDigits = 16;
using Powers = std::array<std::array<std::uint32_t, 16>, kDigits>;
constexpr Powers make_powers() {
  Powers powers{};
  std::uint32_t base = kByteShift;
  for (auto& row : powers) {
    row[0] = kOne;
    for (std::size_t d = 1; d < row.size(); ++d) row[d] = multiply(row[d - 1], base);
    base = multiply(row.back(), base);
  }
  return powers;
}
constexpr Powers kPowers = make_powers();

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
  for (std::size_t digit = 0; second_size > 0; ++digit, second_size >>= 4) {
    if (const std::uint64_t d = second_size & 15; d > 0) first = multiply(kPowers[digit][d], first);
  }
  return first ^ second;
}

}  // namespace moraine
