#include "base/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <limits>

namespace moraine {

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

}  // namespace moraine
