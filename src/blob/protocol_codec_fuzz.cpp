// Decoding never crashes, and what it accepts has exactly one encoding.
#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "blob/protocol_codec.h"

using namespace moraine;
using namespace moraine::blob;

namespace {

void try_both(const Slice& frame) {
  if (const auto request = decode_request(frame)) {
    INVARIANT(equal(encode(*request), frame), "a request of {} bytes encodes otherwise",
              frame.size());
  }
  if (const auto reply = decode_reply(frame)) {
    INVARIANT(equal(encode(*reply), frame), "a reply of {} bytes encodes otherwise", frame.size());
  }
}

// The input as kind, header size, header and bulk of a frame with a valid checksum, so that the
// grammar is reached.
Slice sealed(ByteSpan input) {
  Decoder from(input);
  const auto kind = static_cast<std::uint8_t>(1 + from.u8() % 2);
  const std::size_t bulk_size = std::min<std::size_t>(from.u8(), from.remaining());
  const ByteSpan header = from.raw(from.remaining() - bulk_size);
  Encoder to;
  to.u8(1).u8(kind).sized(header);
  to.u32(crc32c(to.span()));
  to.raw(from.raw(bulk_size));
  return to.slice();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  try_both(Slice::copy_of(bytes));
  try_both(sealed(bytes));
  return 0;
}
