// Loading of blocks that lookups miss.
//
// Promise    Each block is loaded once, several at a time. The first failure is told.
// Threading  The tablet's executor.
// Limits     kBlockLoadsInFlight at once.
#pragma once

#include "table/tablet/lookup_pass.h"

namespace moraine::table {

inline constexpr std::size_t kBlockLoadsInFlight = 32;

// Moves what is `missing` into the pins.
Task<Result<void>> load_blocks(std::vector<MissingBlock> missing, BlockPins& pins);

}  // namespace moraine::table
