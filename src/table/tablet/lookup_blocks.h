// Loading of blocks that lookups miss.
//
// Promise    Each block is loaded once, several at a time. The first failure is told.
// Threading  load_blocks() on the tablet's executor; load_blocks_here() on a thread that may wait.
// Limits     kBlockLoadsInFlight at once; kBlocksHereMax one after the other.
#pragma once

#include "table/tablet/lookup_pass.h"

namespace moraine::table {

inline constexpr std::size_t kBlockLoadsInFlight = 32;

// More blocks are read sooner side by side, on the tablet's executor.
inline constexpr std::size_t kBlocksHereMax = 3;

// Moves what is `missing` into the pins.
Task<Result<void>> load_blocks(std::vector<MissingBlock> missing, BlockPins& pins);
// The same on this thread, as it waits for the disk. False: load_blocks() must do it.
bool load_blocks_here(std::vector<MissingBlock> missing, BlockPins& pins);

}  // namespace moraine::table
