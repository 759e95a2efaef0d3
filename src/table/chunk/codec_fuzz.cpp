// Any bytes as a packed block of any codec: an error, or as many bytes as were asked for; and any
// bytes packed by any codec and unpacked again are the same.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "table/chunk/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::table;
  constexpr std::array kNames = {"none",   "lz4",     "lz4_high_compression",
                                 "zstd_1", "zlib_6",  "brotli_3",
                                 "lzma_0", "bzip2_1", "snappy"};
  if (size < 3) return 0;
  const auto codec = parse_codec(kNames[data[0] % kNames.size()]);
  const std::size_t unpacked = data[1] * std::size_t{256} + data[2];
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data) + 3, size - 3);
  if (!codec || to_string(*codec).empty()) __builtin_trap();
  const auto any = decompress(codec->kind, bytes, unpacked);
  if (any && any->size() != unpacked) __builtin_trap();
  const auto again = decompress(codec->kind, compress(*codec, bytes), bytes.size());
  if (!again || !std::ranges::equal(again->span(), bytes)) __builtin_trap();
  return 0;
}
