// Adler-32 (RFC 1950), the checksum of VCDIFF windows.
//
// Threading  Pure.
// Tests      vcdiff_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace moraine::table {

inline constexpr std::uint32_t kAdler32Empty = 1;

std::uint32_t adler32(std::string_view text);
// The checksum of two concatenated texts, from the checksum of each and the size of the second.
std::uint32_t join_adler32(std::uint32_t first, std::uint32_t second, std::size_t second_size);

}  // namespace moraine::table
