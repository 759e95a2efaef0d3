// One seed of the topics campaign: a cluster, queue tablets on its clients, producers, consumers
// and a nemesis for a while, then the final checks of everything that was promised.
//
// Promise    As campaign.h.
#pragma once

#include "sim/campaign.h"

namespace moraine::sim {

// What `moraine_sim --scenario topics` runs.
SeedOptions topics_options(std::uint64_t seed);

SeedReport run_topics_seed(const SeedOptions& options);

}  // namespace moraine::sim
