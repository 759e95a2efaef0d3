// One seed of the campaign: a cluster, clients and a nemesis for some minutes, then the final
// checks of everything that was promised.
//
// Promise    The same options give the same trace hash. `failure` names the seed, the virtual time,
//            the blob or tablet, and what was expected.
#pragma once

#include <optional>
#include <string>

#include "base/node_bug.h"
#include "blob/seeded_bug.h"
#include "queue/seeded_bug.h"
#include "sim/cluster.h"
#include "sim/history.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::sim {

struct SeedOptions {
  std::uint64_t seed = 1;
  std::optional<Erasure> erasure;  // Chosen by the seed when not given.
  Duration trouble = 75s;          // How long the nemesis is active.
  blob::SeededBug bug = blob::SeededBug::kNone;
  queue::SeededBug topic_bug = queue::SeededBug::kNone;
  table::SeededBug table_bug = table::SeededBug::kNone;
  NodeBug node_bug = NodeBug::kNone;
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
