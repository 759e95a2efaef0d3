// Splitting a blob into parts and putting it together again.
//
// Promise    none and mirror-3-dc: every part is the whole blob. block-4-2: parts 1-4 are contiguous
//            slices of the blob, parts 5-6 parity (EVENODD over GF(2) as in facts, or any MDS code with the same
//            slices); any four parts give the blob back.
// Layout     Data part i (1-based) of a block-4-2 blob of n bytes holds blob bytes
//            [slice_offset(n,i), +slice_size(n,i)), zero padded to stored_part_size(n).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/group/geometry.h"

namespace moraine::blob {

// Bytes that each part of a blob of `size` bytes takes on a disk.
// none, mirror-3-dc: size. block-4-2: ceil(size / 128) * 32.
std::uint32_t stored_part_size(Species species, std::uint32_t size);

struct PartRange {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};
// Which bytes of the blob data part `part` (1..4) of block-4-2 holds.
PartRange data_slice(std::uint32_t blob_size, std::uint32_t part);

// All parts of a blob, in part order. Parts that are whole slices of `blob` share its memory.
std::vector<Slice> split(Species species, const Slice& blob);

// Index i is part i+1; an empty optional-like Slice (size 0) means "not at hand".
using PartSet = std::array<Slice, kPartsMax>;

// The blob from any sufficient set of whole parts; kNotFound when they do not suffice.
Result<Slice> join(Species species, std::uint32_t blob_size, const PartSet& parts);

// Fills in the missing parts named by `wanted` (bit part-1) from any sufficient set of whole parts.
Result<void> restore_parts(Species species, std::uint32_t blob_size, PartSet& parts, std::uint32_t wanted);

// Column ranges: the same byte range [offset, offset+size) (multiples of kColumnUnit, or up to the part's end) of
// any four parts gives that range of any other part, so a range read never needs whole parts.
inline constexpr std::uint32_t kColumnUnit = 32;
// Recomputes the column range of part `wanted` from the same range of four or more other parts. All
// slices present have the same size. Requires: species is block-4-2.
Result<Slice> restore_column(std::uint32_t wanted_part, const PartSet& columns);

}  // namespace moraine::blob
