// A blob survives split, the loss of any two parts, and join; its parts survive restoring.
#include <bit>

#include "base/invariant.h"
#include "blob/group/erasure.h"

using namespace moraine;
using namespace moraine::blob;

namespace {

// Requires: two parts named by `lost` at most.
void lose_and_join(const Slice& blob, std::uint32_t lost) {
  const auto size = static_cast<std::uint32_t>(blob.size());
  const auto parts = split(Species::kBlock42, blob);
  PartSet left;
  for (std::uint32_t i = 0; i < kPartsMax; ++i) {
    if ((lost >> i & 1) == 0) left[i] = parts[i];
  }
  const auto joined = join(Species::kBlock42, size, left);
  INVARIANT(joined && equal(*joined, blob), "{} bytes without {:06b}", size, lost);
  INVARIANT(restore_parts(Species::kBlock42, size, left, lost), "{:06b}", lost);
  for (std::uint32_t i = 0; i < kPartsMax; ++i) {
    INVARIANT(equal(left[i], parts[i]), "part {} of {} bytes", i + 1, size);
  }
}

// Arbitrary parts: any sizes, any number. The result is an error or a blob of the right size.
void join_anything(const Slice& bytes, std::uint32_t blob_size, std::uint32_t present) {
  PartSet parts;
  const std::size_t each = bytes.size() / kPartsMax;
  for (std::uint32_t i = 0; i < kPartsMax; ++i) {
    if ((present >> i & 1) != 0) parts[i] = bytes.sub(i * each, each);
  }
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    const auto joined = join(species, blob_size, parts);
    INVARIANT(!joined || joined->size() == blob_size, "{} bytes", blob_size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::uint32_t lost = data[0] % 64;
  const std::uint32_t present = data[1] % 64;
  const std::uint32_t blob_size = data[2] * 256u + data[3];
  const Slice bytes =
      Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data + 3), size - 3));
  if (std::popcount(lost) <= 2) lose_and_join(bytes, lost);
  join_anything(bytes, blob_size, present);
  return 0;
}
