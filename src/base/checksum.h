// CRC32C (Castagnoli), the checksum of every format here.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace moraine {

// crc32c(b, crc32c(a)) == crc32c(a followed by b); crc32c("123456789") == 0xe3069283.
std::uint32_t crc32c(ByteSpan bytes, std::uint32_t previous = 0);

}  // namespace moraine
