// Splitting a blob into parts and joining it again.
//
// Promise    none and mirror-3-dc: every part is the whole blob. block-4-2: parts 1-4 are
//            contiguous slices of the blob, parts 5-6 parity; any four parts restore the blob.
// Code       Reed-Solomon over GF(2^8) (polynomial 0x11d), byte by byte of the padded data parts
//            d1..d4: part 5 is d1 + d2 + d3 + d4, part 6 is d1 + 2 d2 + 4 d3 + 8 d4. It is linear,
//            so a byte range of a part depends only on the same range of others. Changing the code
//            loses the data of every existing block-4-2 group.
// Layout     Data part i (1-based) of a block-4-2 blob holds the blob bytes data_slice(size, i),
//            zero padded to stored_part_size(). Of the size mod 128 bytes that do not fill a row,
//            parts 1-3 take 32 each while 32 remain; what is left goes to part 4.
// Memory     Parts and blobs share memory instead of copying wherever the bytes are the same; the
//            other parts of one call share one new block.
// Errors     kNotFound: not enough parts. kCorrupt: a part has the wrong size.
// Threading  Any thread.
// Limits     Blobs of 1..kBlobSizeFieldMax bytes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/group/geometry.h"

namespace moraine::blob {

// Bytes that each part of a blob of `size` bytes occupies on a disk.
// none, mirror-3-dc: size. block-4-2: ceil(size / 128) * 32.
std::uint32_t stored_part_size(Species species, std::uint32_t size);

struct PartRange {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  auto operator<=>(const PartRange&) const = default;
};
// Which bytes of the blob data part `part` (1..4) of block-4-2 holds.
PartRange data_slice(std::uint32_t blob_size, std::uint32_t part);

// All parts of a blob, in part order. Parts that are whole slices of `blob` share its memory.
// Requires: the size of `blob` is within the limits.
std::vector<Slice> split(Species species, const Slice& blob);

// Index i is part i+1; an empty Slice means "not available".
using PartSet = std::array<Slice, kPartsMax>;

// The blob from any sufficient set of whole parts; kNotFound when they do not suffice.
Result<Slice> join(Species species, std::uint32_t blob_size, const PartSet& parts);

// Computes the missing parts named by `wanted` (bit part-1) from any sufficient set of whole parts.
// On an error `parts` is unchanged. Requires: `wanted` names parts of the species only.
Result<void> restore_parts(Species species, std::uint32_t blob_size, PartSet& parts,
                           std::uint32_t wanted);

// Column ranges: the same byte range [offset, offset+size) (multiples of kColumnUnit, or up to the
// part's end) of any four parts gives that range of any other part, so a range read never needs
// whole parts.
inline constexpr std::uint32_t kColumnUnit = 32;
// The column range of part `wanted_part` of a block-4-2 blob from the same range of any four parts.
// All slices present have the same size. Requires: wanted_part is 1..6.
Result<Slice> restore_column(std::uint32_t wanted_part, const PartSet& columns);

}  // namespace moraine::blob
