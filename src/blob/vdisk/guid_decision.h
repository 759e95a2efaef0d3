// Guid recovery, the decision: is our data all there? A pure function.
//
// Every disk has a guid that its neighbours remember, so that an emptied disk cannot pose as a
// healthy one.
#pragma once

#include <cstdint>

#include "blob/vdisk/records.h"

namespace moraine::blob {

// A guid is 16 bits of age and 48 random bits. Each recovery of a disk makes it one older, so that
// a message that comes late cannot take the place of what was said after it.
constexpr std::uint64_t guid_age(std::uint64_t guid) {
  return guid >> 48;
}
constexpr std::uint64_t make_guid(std::uint64_t age, std::uint64_t random) {
  return age << 48 | (random & ((std::uint64_t{1} << 48) - 1)) | 1;
}

// May a neighbour's memory of a disk be replaced?
constexpr bool supersedes(NeighbourGuid current, NeighbourGuid offered) {
  if (current.state == GuidState::kEmpty) return true;
  if (guid_age(offered.guid) != guid_age(current.guid)) {
    return guid_age(offered.guid) > guid_age(current.guid);
  }
  return offered.state >= current.state;
}

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
