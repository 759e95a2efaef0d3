// One seed of the tables campaign: a cluster, tablets, coordinators and a timestamp oracle on its
// clients, transactions, readers and a nemesis for a while, then the final checks of everything
// that was promised.
//
// Promise    As campaign.h.
#pragma once

#include "sim/campaign.h"

namespace moraine::sim {

// What `moraine_sim --scenario tables` runs.
SeedOptions tables_options(std::uint64_t seed);

SeedReport run_tables_seed(const SeedOptions& options);

}  // namespace moraine::sim
