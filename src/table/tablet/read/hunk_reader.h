// Hunk reads: read the bytes of long values from their blobs.
//
// Promise    Neighbours in a blob are read together. Bytes that do not match their checksum are
//            kCorrupt; the error names the blob. Bytes read are counted.
// Threading  The tablet's executor.
// Limits     kHunkReadsInFlight reads at once, each of at most kHunkReadBytesMax or one hunk.
// Tests      tablet_lookup_test.cpp.
#pragma once

#include <span>
#include <vector>

#include "table/chunk/chunk_reader.h"
#include "table/chunk/hunk.h"

namespace moraine::table {

inline constexpr std::size_t kHunkReadsInFlight = 32;
inline constexpr std::uint32_t kHunkReadBytesMax = 1u << 20;
inline constexpr std::uint32_t kHunkGapMax = 4'096;  // Smaller gaps are read over.

// The bytes of each hunk, in the order of `refs`.
Task<Result<std::vector<Slice>>> read_hunks(std::span<const HunkRef> refs, BlobReader& blobs,
                                            ChunkReadCounters& counters);

}  // namespace moraine::table
