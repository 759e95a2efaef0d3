// Guid recovery, the decision: is this disk's data complete? A pure function.
//
// Every disk has a guid that its neighbours remember, so that an emptied disk cannot be mistaken
// for a healthy one.
#pragma once

#include <cstdint>

#include "blob/vdisk/records.h"

namespace moraine::blob {

// A guid is 16 bits of age and 48 random bits. Each recovery of a disk increments the age, so that
// a late message cannot replace a newer guid.
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
  kContinueFirstRun,  // It crashed during its first run.
  kLostData,          // Recover the index from the neighbours.
  kGood,
  kInconsistent,  // The disk and its neighbours contradict each other: serve nothing.
};

// `remembered`: the strongest guid that a quorum of neighbours remembers.
GuidAction decide_guid(LocalState local, std::uint64_t guid, NeighbourGuid remembered);

}  // namespace moraine::blob
