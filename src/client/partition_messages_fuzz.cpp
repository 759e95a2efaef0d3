#include "base/coding.h"
#include "base/invariant.h"
#include "base/sealed.h"
#include "client/partition_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const Slice bytes = Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  (void)decode_partition_request(bytes);
  (void)decode_partition_reply(bytes);
  // With a valid checksum, so that the fields are decoded.
  Encoder encoder;
  encoder.raw(bytes);
  const Slice whole = seal(std::move(encoder));
  if (const auto request = decode_partition_request(whole)) {
    INVARIANT(equal(encode(*request), whole), "one spelling per request");
  }
  if (const auto reply = decode_partition_reply(whole)) {
    INVARIANT(equal(encode(*reply), whole), "one spelling per reply");
  }
  return 0;
}
