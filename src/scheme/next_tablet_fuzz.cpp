// Any bytes as the next tablet's id: refused, or decoded to what encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "base/sealed.h"
#include "scheme/next_tablet.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan input(reinterpret_cast<const std::byte*>(data), size);
  (void)decode_next_tablet(input);
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(input);
  const Slice bytes = seal(std::move(encoder));
  if (const auto id = decode_next_tablet(bytes)) {
    if (id->value == 0 || !equal(encode_next_tablet(*id), bytes)) __builtin_trap();
  }
  return 0;
}
