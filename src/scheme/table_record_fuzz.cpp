#include "base/coding.h"
#include "base/invariant.h"
#include "base/sealed.h"
#include "scheme/table_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  PathNode node;
  node.path = "t";
  node.record = Slice::copy_of(bytes);
  (void)decode_table(node);
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(bytes);
  node.record = seal(std::move(encoder));
  if (const auto record = decode_table(node)) {
    node.record = encode_table(*record);
    INVARIANT(decode_table(node).has_value(), "a decoded value can be encoded");
  }
  return 0;
}
