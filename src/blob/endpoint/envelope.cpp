#include "blob/endpoint/envelope.h"

#include <fmt/format.h>

#include "base/coding.h"
#include "blob/protocol_codec.h"

namespace moraine::blob {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

Slice seal(const DiskAddress& address, const std::vector<Slice>& content) {
  Encoder head;
  head.u8(kVersion).u32(address.device).u32(address.slot);
  return concatenate(head.span(), content);
}

Result<Envelope> open_envelope(const Slice& frame) {
  Decoder from(frame);
  const std::uint8_t version = from.u8();
  Envelope envelope;
  envelope.device = from.u32();
  envelope.slot = from.u32();
  if (from.failed()) {
    return fail(Errc::kCorrupt, fmt::format("envelope: only {} bytes", frame.size()));
  }
  if (version != kVersion) {
    return fail(Errc::kCorrupt, fmt::format("envelope: version {} is unknown", version));
  }
  envelope.content = frame.sub(from.position(), from.remaining());
  return envelope;
}

}  // namespace moraine::blob
