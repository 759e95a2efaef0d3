#include "base/coding.h"
#include "base/invariant.h"
#include "base/sealed.h"
#include "transaction/decision.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  (void)decode_decision(bytes);
  (void)decode_decisions(bytes);
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(bytes);
  const Slice whole = seal(std::move(encoder));
  if (const auto decision = decode_decision(whole)) {
    INVARIANT(equal(encode_decision(*decision), whole), "one spelling per decision");
  }
  if (const auto page = decode_decisions(whole)) {
    const auto again = decode_decisions(encode_decisions(*page).front());
    INVARIANT(again.has_value(), "a decoded value can be encoded");
  }
  return 0;
}
