// One seed of the tables campaign: a cluster, tablets, coordinators and a timestamp oracle on its
// clients, transactions, readers and a nemesis for a while, then the final checks of everything
// that was promised.
//
// Promise    As campaign.h.
#pragma once

#include "sim/campaign.h"
#include "sim/tables/table_options.h"

namespace moraine::sim {

// What `moraine_sim --scenario tables` runs.
SeedOptions tables_options(std::uint64_t seed);

// Chooses tables, their options and how clients use them.
void plan_tables(SeededRandom& random, TableOptions& tables);

SeedReport run_tables_seed(const SeedOptions& options);

}  // namespace moraine::sim
