// Guid recovery, the decision: is our data all there? A pure function.
//
// Every disk has a guid that its neighbours remember, so that an emptied disk cannot pose as a
// healthy one.
#pragma once

#include <cstdint>

#include "blob/vdisk/records.h"

namespace moraine::blob {

enum class GuidAction : std::uint8_t {
  kFirstRun,          // A new disk of a new group.
  kContinueFirstRun,  // It crashed half-way through that.
  kLostData,          // Get the index back from the neighbours.
  kGood,
  kInconsistent,  // Memories contradict each other: serve nothing.
};

// `remembered`: the strongest of what a quorum of neighbours remembers.
GuidAction decide_guid(LocalState local, std::uint64_t guid, NeighbourGuid remembered);

}  // namespace moraine::blob
