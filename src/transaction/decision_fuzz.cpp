#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "transaction/decision.h"

namespace {

// A checksum that fits, so that the grammar behind it is reached.
moraine::Slice sealed(moraine::ByteSpan bytes) {
  moraine::Encoder encoder;
  encoder.raw(bytes).u32(moraine::crc32c(bytes));
  return encoder.slice();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  (void)decode_decision(bytes);
  (void)decode_decisions(bytes);
  const Slice whole = sealed(bytes);
  if (const auto decision = decode_decision(whole)) {
    INVARIANT(equal(encode_decision(*decision), whole), "one spelling per decision");
  }
  if (const auto page = decode_decisions(whole)) {
    const auto again = decode_decisions(encode_decisions(*page).front());
    INVARIANT(again.has_value(), "what was read can be written");
  }
  return 0;
}
