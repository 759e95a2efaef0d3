#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "transaction/tablet_messages.h"

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
  (void)decode_tablet_request(bytes);
  (void)decode_tablet_reply(bytes);
  const Slice whole = sealed(bytes);
  if (const auto request = decode_tablet_request(whole)) {
    INVARIANT(equal(encode(*request), whole), "one spelling per request");
  }
  if (const auto reply = decode_tablet_reply(whole)) {
    INVARIANT(equal(encode(*reply), whole), "one spelling per reply");
  }
  return 0;
}
