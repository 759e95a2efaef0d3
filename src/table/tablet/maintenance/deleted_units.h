// DeletedUnits: what a merge need not read, since tombstones that are merged with it delete it.
//
// Where rows are added at one end and deleted at the other, whole chunks are deleted by chunks that
// hold only tombstones. Those are small and show which units (chunk_meta.h) of the others are
// deleted completely; such units are skipped.
//
// Promise    Only units that are invisible to all readers are skipped: every row of them is deleted
//            later than it was written, and before the horizon. The tombstones themselves are
//            merged as usual.
// Threading  Begins and ends on the tablet's executor; reads tombstones as a build does.
// Limits     kTombstonesListedMax tombstones, kTombstoneBytesMax of their keys: beyond that nothing
//            is skipped.
// Tests      deleted_units_test.cpp.
#pragma once

#include "table/chunk/chunk_reader.h"
#include "table/tablet/maintenance/chunk_build.h"

namespace moraine::table {

inline constexpr std::uint64_t kTombstonesListedMax = 2'000'000;
inline constexpr std::size_t kTombstoneBytesMax = std::size_t{64} << 20;

using ChunkReaders = std::vector<std::shared_ptr<ChunkReader>>;

// By chunk, in their order; empty where nothing is skipped. `chunks` must outlive it.
Task<Result<std::vector<SkippedUnits>>> find_deleted_units(BuildPlaces places,
                                                           const ChunkReaders& chunks,
                                                           RetentionConfig retention,
                                                           RetentionScope scope);

}  // namespace moraine::table
