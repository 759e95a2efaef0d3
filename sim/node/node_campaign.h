// One seed of the node campaign: three machines with whole nodes, Kafka clients, transactions over
// tables and a nemesis for a while, then the final checks of everything that was promised.
//
// Promise    As campaign.h.
#pragma once

#include "sim/campaign.h"

namespace moraine::sim {

// What `moraine_sim --scenario node` runs.
SeedOptions node_options(std::uint64_t seed);

SeedReport run_node_seed(const SeedOptions& options);

}  // namespace moraine::sim
