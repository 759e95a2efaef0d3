// Any bytes as a schema: rejected, or decoded to a schema that encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "table/model/schema_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::table;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  Decoder decoder(bytes);
  if (const auto schema = take_schema(decoder)) {
    Encoder encoder;
    append_schema(encoder, *schema);
    if (!equal(encoder.span(), bytes.first(decoder.position()))) __builtin_trap();
  }
  return 0;
}
