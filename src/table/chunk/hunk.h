// HunkRef: the location of a long value's bytes: a range of a blob that holds only such values.
//
//   ref = blob id (25)  offset u32  size u32  crc32c of the bytes u32
//
// Threading  Plain data.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "blob/blob_id.h"

namespace moraine::table {

struct HunkRef {
  blob::BlobId blob;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t checksum = 0;
  bool operator==(const HunkRef&) const = default;
};
inline constexpr std::size_t kHunkRefBytes = 37;

void encode_hunk(const HunkRef& ref, std::byte* to);
// Requires: kHunkRefBytes bytes.
HunkRef decode_hunk(const std::byte* from);

}  // namespace moraine::table
