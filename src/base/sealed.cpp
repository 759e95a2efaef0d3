#include "base/sealed.h"

#include "base/checksum.h"

namespace moraine {

Slice seal(Encoder encoder) {
  const std::uint32_t checksum = crc32c(encoder.span());
  return encoder.u32(checksum).slice();
}

Result<ByteSpan> unseal(ByteSpan bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return fail(Errc::kCorrupt, "record is truncated");
  const ByteSpan covered = bytes.first(bytes.size() - sizeof(std::uint32_t));
  if (crc32c(covered) != load<std::uint32_t>(bytes.data() + covered.size())) {
    return fail(Errc::kCorrupt, "record checksum does not match");
  }
  return covered;
}

}  // namespace moraine
