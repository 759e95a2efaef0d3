// Loads the blocks that lookups miss.
//
// Promise    Each block is loaded once, several at a time. The first failure is returned.
// Threading  load_blocks() on the tablet's executor; load_blocks_inline() on a thread that may
//            block.
// Limits     kBlockLoadsInFlight concurrently; kBlocksInlineMax one after the other.
#pragma once

#include "table/tablet/lookup_pass.h"

namespace moraine::table {

inline constexpr std::size_t kBlockLoadsInFlight = 32;

// More blocks are read faster in parallel, on the tablet's executor.
inline constexpr std::size_t kBlocksInlineMax = 3;

// Loads the `missing` blocks into the pins.
Task<Result<void>> load_blocks(std::vector<MissingBlock> missing, BlockPins& pins);
// The same on this thread, blocking for the disk. False: use load_blocks().
bool load_blocks_inline(std::vector<MissingBlock> missing, BlockPins& pins);

}  // namespace moraine::table
