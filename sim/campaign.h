// One seed of the campaign: a cluster, clients and a nemesis for some minutes, then the final
// checks of everything that was promised.
//
// Promise    The same options give the same trace hash. `failure` names the seed, the virtual time,
//            the blob or tablet, and what was expected.
#pragma once

#include <optional>
#include <string>

#include "sim/cluster.h"
#include "sim/history.h"

namespace moraine::sim {

struct SeedOptions {
  std::uint64_t seed = 1;
  std::optional<Erasure> erasure;  // Chosen by the seed when not given.
  Duration trouble = 75s;          // How long the nemesis is active.
  bool verbose = false;
};

struct SeedReport {
  Erasure erasure = Erasure::kNone;
  std::optional<std::string> failure;
  std::uint64_t trace_hash = 0;
  Tally tally;
};

SeedReport run_seed(const SeedOptions& options);
// The report of a finished run.
SeedReport report_of(Erasure erasure, SimWorld& world, const History& history);

}  // namespace moraine::sim
