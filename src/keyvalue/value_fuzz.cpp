// Any bytes as a key-value log body: rejected, or decoded to what encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "keyvalue/state.h"
#include "keyvalue/value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const Slice bytes = Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  if (const auto changes = decode_changes(bytes)) {
    if (!equal(encode_changes(*changes).joined(), bytes)) __builtin_trap();
    KeyValueState state;
    state.apply(*changes);
  }
  return 0;
}
