// Any bytes as the record of a topic: refused, or decoded to what encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/topic_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  PathNode node;
  node.record = seal(std::move(encoder));
  if (const auto record = decode_topic(node)) {
    if (!equal(encode_topic(*record), node.record)) __builtin_trap();
  }
  return 0;
}
