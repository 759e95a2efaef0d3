// The leaders scenario: one tablet over a block-4-2 group, whose leaders are started at random on
// three nodes, while nodes crash, pause and are cut off, and disks fail within the failure model.
//
// Promise    `failure` says which of these was broken first, with the seed: (1) of every generation
//            at most one boot succeeds; (2) what a leader found when it booted, and what it had
//            confirmed when it ended, is a prefix of the final state; (3) every acknowledged commit
//            is in the final state exactly once; (4) no later boot, whichever disks are down, sees
//            a different history; (5) every blob that the final state refers to can be read.
// Threading  The calling thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "blob/seeded_bug.h"

namespace moraine::sim {

struct LeadersReport {
  std::optional<std::string> failure;
  std::uint64_t boots = 0;         // Successful ones.
  std::uint64_t refused = 0;       // Failed boots.
  std::uint64_t acknowledged = 0;  // Commits.
  std::uint64_t snapshots = 0;     // Boots that restored a snapshot.
  std::uint64_t trace_hash = 0;
};

LeadersReport run_leaders(std::uint64_t seed);

}  // namespace moraine::sim
