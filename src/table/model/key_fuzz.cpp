// Any bytes as a key: rejected, or decoded to columns that encode to the same bytes.

#include <cstddef>
#include <cstdint>

#include "table/model/key.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::table;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<Value> columns;
  std::string memory;
  if (decode_key(bytes, columns, memory)) {
    if (encode_key(columns) != as_text(bytes)) __builtin_trap();
  }
  return 0;
}
