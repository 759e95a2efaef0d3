// Any bytes as a chunk record: rejected, or encoded again to the same bytes.

#include <cstddef>
#include <cstdint>

#include "table/chunk/chunk_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan input(reinterpret_cast<const std::byte*>(data), size);
  Decoder in(input);
  const auto record = table::take_record(in);
  if (!record) return 0;
  Encoder out;
  table::append_record(out, *record);
  if (!equal(out.span(), input.first(in.position()))) __builtin_trap();
  return 0;
}
