// How many more failures a group survives: a pure function over its shape and its disks.
//
// Promise    further_failures() returns the largest `n` such that, whichever n units fail next,
//            every confirmed blob stays readable and new ones can be confirmed. A unit is what
//            fails together: a disk, or all disks of a node.
// Terms      A disk is whole when it serves and has all of its parts. One that is unreachable,
//            broken, recovering or still replicating is not, and counts as failed.
// Cost       No heap beyond the units; at most units^3 / 6 checks of tolerated().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "blob/group/config.h"
#include "blob/group/quorum.h"

namespace moraine::blob {

// In the worst case this many failed units exceed every fail model: one more domain than block-4-2
// tolerates, or a domain in each of three realms.
inline constexpr std::uint32_t kFailuresEnough = 3;

enum class GroupCondition : std::uint8_t {
  kWhole,         // Every disk is whole.
  kDegraded,      // Some are not; at least one more failure is survived.
  kNoRedundancy,  // It serves; the next failure may make data unreadable. Never of a whole group.
  kDataAtRisk,    // A quorum serves, but more disks than tolerated are not whole: data that they
                  // lack may be unreadable until they have replicated it, or return.
  kNotAvailable,  // No quorum serves: commands fail.
};
std::string_view to_string(
    GroupCondition condition);  // "whole", "degraded", "no redundancy left", ...

struct Redundancy {
  GroupCondition condition = GroupCondition::kNotAvailable;
  std::uint32_t disks = 0;
  DiskSet not_serving = 0;
  DiskSet not_whole = 0;  // Those, and those that serve but lack parts.
  // How many more may fail, whichever they are; -1 when the fail model is exceeded already.
  int disks_survived = -1;
  int nodes_survived = -1;
  // The same when every disk is whole.
  int disks_survived_at_best = 0;
  int nodes_survived_at_best = 0;
};

// -1: `failed` is not tolerated itself. Units of disks that all failed change nothing.
int further_failures(const Geometry& geometry, DiskSet failed, std::span<const DiskSet> units);

// `serving`: disks that answer and are ready. `replicated`: those of them that lack no part.
Redundancy redundancy(const GroupConfig& group, DiskSet serving, DiskSet replicated);

// Readable text for operators: what has failed, and what may still fail.
std::string describe(const Redundancy& redundancy);

}  // namespace moraine::blob
