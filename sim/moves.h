// Moves: one seed in which members move continuously, on slow disks, under continuous load.
//
// Promise    Clients get no error, whichever disks know which generation. A member is moved as soon
//            as the one before is complete, also to hosts where members once were.
#pragma once

#include "sim/campaign.h"

namespace moraine::sim {

SeedReport run_moves_seed(const SeedOptions& options);

}  // namespace moraine::sim
