// Any bytes as a claim of topics: refused, or decoded to what encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "base/coding.h"
#include "base/sealed.h"
#include "cluster/topics_claim.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  const Slice bytes = seal(std::move(encoder));
  if (const auto holder = decode_claim(bytes)) {
    if (!equal(encode_claim(*holder), bytes)) __builtin_trap();
  }
  return 0;
}
