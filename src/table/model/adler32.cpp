#include "table/model/adler32.h"

#include <zlib.h>

namespace moraine::table {

std::uint32_t adler32(std::string_view text) {
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  return static_cast<std::uint32_t>(::adler32_z(kAdler32Empty, bytes, text.size()));
}

std::uint32_t join_adler32(std::uint32_t first, std::uint32_t second, std::size_t second_size) {
  return static_cast<std::uint32_t>(
      ::adler32_combine(first, second, static_cast<z_off_t>(second_size)));
}

}  // namespace moraine::table
