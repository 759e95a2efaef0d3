#include "base/invariant.h"
#include "transaction/timestamp_oracle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto ceiling = decode_ceiling(bytes)) {
    INVARIANT(equal(encode_ceiling(*ceiling), bytes), "one spelling per value");
  }
  return 0;
}
