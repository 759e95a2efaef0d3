// Moves: one seed of members that move without a pause, on slow disks, under a load without one.
//
// Promise    Clients get no error, whichever disks know of which generation. A member is moved as
//            soon as the one before is complete, also to places where members once were.
#pragma once

#include "sim/campaign.h"

namespace moraine::sim {

SeedReport run_moves_seed(const SeedOptions& options);

}  // namespace moraine::sim
