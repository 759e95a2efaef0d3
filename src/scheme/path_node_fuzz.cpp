// Any bytes as a node of the tree: refused, or decoded to a node that encodes to the same bytes,
// or, for bytes of an older version, to bytes that decode to the same node.

#include <cstddef>
#include <cstdint>

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/path_node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  const Slice bytes = seal(std::move(encoder));
  if (const auto node = decode_node(bytes)) {
    const Slice current = encode_node(*node);
    const bool older = bytes.data()[0] != current.data()[0];
    if (!older && !equal(current, bytes)) __builtin_trap();
    const auto again = decode_node(current);
    if (!again || !equal(encode_node(*again), current)) __builtin_trap();
    if (!equal(again->record, node->record)) __builtin_trap();
    if (older && !node->system.empty()) __builtin_trap();
  }
  return 0;
}
