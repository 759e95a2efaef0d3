// Any bytes as a record of the tree: refused, or decoded to one that encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/tree_records.h"

namespace {

using namespace moraine;

template <class Decode>
void check(const Slice& bytes, Decode decode) {
  const auto record = decode(bytes);
  // Nodes inside may be of an older version, which has other bytes.
  if (!record) return;
  const Slice again = encode(*record);
  const auto twice = decode(again);
  if (!twice || !equal(encode(*twice), again)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  const Slice bytes = seal(std::move(encoder));
  check(bytes, decode_transaction);
  check(bytes, decode_entry);
  check(bytes, decode_lock);
  check(bytes, decode_snapshot);
  check(bytes, decode_mutation);
  return 0;
}
