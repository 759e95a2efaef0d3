// CRC32C (Castagnoli), the checksum of every format here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace moraine {

// crc32c(b, crc32c(a)) == crc32c(a followed by b); crc32c("123456789") == 0xe3069283.
std::uint32_t crc32c(ByteSpan bytes, std::uint32_t previous = 0);

// crc32c(a followed by b) from crc32c(a), crc32c(b) and the size of b, without reading the bytes
// again. Costs about as much as the checksum of kCombinedBytesMin bytes (on processors that
// multiply polynomials; without, of 4 KiB).
std::uint32_t crc32c_combined(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);
inline constexpr std::size_t kCombinedBytesMin = 64;

}  // namespace moraine
