// DeletedUnits: what a merge need not read, since tombstones that are merged with it delete it.
//
// Where rows come at one end and go at the other, whole chunks are deleted by chunks of nothing but
// tombstones. Those are small and tell which units (chunk_meta.h) of the others are deleted to the
// last row; such units are left out unread.
//
// Promise    Only units that nobody may read any more are left out: every row of them is deleted
//            later than it was written, and before the horizon. The tombstones themselves are
//            merged as ever.
// Threading  Begins and ends on the tablet's executor; reads tombstones as a build does.
// Limits     kTombstonesListedMax tombstones, kTombstoneBytesMax of their keys: with more of them
//            nothing is left out.
// Tests      deleted_units_test.cpp.
#pragma once

#include "table/chunk/chunk_reader.h"
#include "table/tablet/chunk_build.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::table {

inline constexpr std::uint64_t kTombstonesListedMax = 2'000'000;
inline constexpr std::size_t kTombstoneBytesMax = std::size_t{64} << 20;

using ChunkReaders = std::vector<std::shared_ptr<ChunkReader>>;

// By chunk, in their order; empty where nothing is left out. `chunks` outlive it.
Task<Result<std::vector<LeftOut>>> find_deleted_units(BuildPlaces places,
                                                      const ChunkReaders& chunks,
                                                      RetentionConfig retention,
                                                      RetentionScope scope, SeededBug bug);

}  // namespace moraine::table
