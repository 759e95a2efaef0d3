// Any bytes as YSON: rejected, or parsed to a tree that every format round-trips.

#include <cstddef>
#include <cstdint>

#include "yson/yson.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  if (size == 0) return 0;
  const auto document = static_cast<YsonDocument>(data[0] % 3);
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto node = parse_yson(input, document);
  if (node.has_value() != check_yson(input, document).has_value()) __builtin_trap();
  if (!node || document != YsonDocument::kNode) return 0;
  // Trees with NaN differ from themselves: compare what is written.
  const std::string binary = write_yson(*node, YsonFormat::kBinary);
  for (const YsonFormat format : {YsonFormat::kBinary, YsonFormat::kText, YsonFormat::kPretty}) {
    const auto again = parse_yson(write_yson(*node, format));
    if (!again) __builtin_trap();
    if (format == YsonFormat::kBinary && write_yson(*again, format) != binary) __builtin_trap();
  }
  return 0;
}
