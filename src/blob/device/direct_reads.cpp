#include "blob/device/direct_reads.h"

#include "io/disk.h"

namespace moraine::blob {

std::optional<Slice> DirectPlace::read(std::uint32_t shift, std::uint32_t bytes) const {
  if (shift > size || bytes > size - shift || bytes > kDirectReadMax) return std::nullopt;
  if (!current()) return std::nullopt;
  const std::uint64_t begin = offset + shift;
  const std::uint64_t from = align_down(begin, kSectorSize);
  const std::uint64_t to = align_up(begin + bytes, kSectorSize);
  const Result<Slice> sectors = reads->disk->read(from, to - from);
  // The segment was freed meanwhile: the bytes may be other data.
  if (!sectors || !current()) return std::nullopt;
  return sectors->sub(begin - from, bytes);
}

}  // namespace moraine::blob
