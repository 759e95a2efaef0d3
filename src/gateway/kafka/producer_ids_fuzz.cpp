// Decoding a counter never crashes, and each accepted value has one encoding.
#include "base/invariant.h"
#include "gateway/kafka/producer_ids.h"

using namespace moraine;
using namespace moraine::kafka;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Slice bytes = Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  const auto next = decode_producer_id_counter(bytes);
  if (next) INVARIANT(equal(encode_producer_id_counter(*next), bytes), "two spellings");
  return 0;
}
