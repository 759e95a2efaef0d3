// Decoding a cluster id never crashes, and each accepted value has one encoding.
#include "base/invariant.h"
#include "gateway/kafka/cluster_id.h"

using namespace moraine;
using namespace moraine::kafka;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Slice bytes = Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  const auto id = decode_cluster_id(bytes);
  if (id) INVARIANT(equal(encode_cluster_id(*id), bytes), "two spellings");
  return 0;
}
