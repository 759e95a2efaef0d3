#include "table/chunk/hunk.h"

#include "base/coding.h"

namespace moraine::table {

void encode_hunk(const HunkRef& ref, std::byte* to) {
  ref.blob.encode(to);
  store(to + blob::kBlobIdBytes, ref.offset);
  store(to + blob::kBlobIdBytes + 4, ref.size);
  store(to + blob::kBlobIdBytes + 8, ref.checksum);
}

HunkRef decode_hunk(const std::byte* from) {
  return {.blob = blob::BlobId::decode(from),
          .offset = load<std::uint32_t>(from + blob::kBlobIdBytes),
          .size = load<std::uint32_t>(from + blob::kBlobIdBytes + 4),
          .checksum = load<std::uint32_t>(from + blob::kBlobIdBytes + 8)};
}

}  // namespace moraine::table
