// Which failures a group survives, and which acknowledgements are enough: pure functions.
//
// Promise    Every tolerated failure set leaves each confirmed blob readable, and leaves enough
//            disks to confirm new ones. Any two group quorums intersect; every group quorum
//            intersects every write quorum.
// Terms      A layout may have parts where they are not allowed (Geometry::allowed): those count as
//            readable, but never towards a confirmation. Set bits beyond the disks or slots of the
//            group are ignored.
// Cost       No heap; a few nanoseconds each.
#pragma once

#include <array>
#include <cstdint>

#include "blob/group/geometry.h"

namespace moraine::blob {

// Fail model of group operations: does the group survive this set of failed disks (by order)?
// A domain has failed when any of its disks has. none: nothing. block-4-2: at most 2 domains.
// mirror-3-dc: at most 2 realms with a failed domain, at most 1 of them with more than one.
bool tolerated(const Geometry& geometry, DiskSet failed);

// Quorum of group operations (block, collect, sync recovery, soft barriers): the complement of
// `acknowledged` is tolerated. A domain counts only when all of its disks acknowledged.
bool group_quorum(const Geometry& geometry, DiskSet acknowledged);

// The same fail model over the slots of one blob's subgroup.
bool slots_tolerated(const Geometry& geometry, DiskSet failed_slots);

// The known parts of one blob: for each slot, the set of parts there (bit part-1).
struct PartLayout {
  std::array<std::uint8_t, kSlotsMax> parts_at{};

  void add(std::uint32_t slot, std::uint32_t part) {
    parts_at[slot] = static_cast<std::uint8_t>(parts_at[slot] | 1u << (part - 1));
  }
  void merge(const PartLayout& other) {
    for (std::uint32_t slot = 0; slot < kSlotsMax; ++slot) {
      parts_at[slot] = static_cast<std::uint8_t>(parts_at[slot] | other.parts_at[slot]);
    }
  }
  bool has(std::uint32_t slot, std::uint32_t part) const {
    return (parts_at[slot] >> (part - 1) & 1) != 0;
  }
  DiskSet slots() const;          // Slots that hold anything.
  std::uint8_t distinct() const;  // Union of parts over all slots.
};

// Maximum matching between distinct parts and distinct slots, parts only where they are allowed:
// the count of replicas of block-4-2. Two parts on one handoff count once; one part on two slots
// counts once. mirror-3-dc: the number of realms with a replica.
std::uint32_t effective_parts(const Geometry& geometry, const PartLayout& layout);

// Write quorum of one blob: may a put with these acknowledged parts answer OK? none: the one part.
// block-4-2: effective_parts == 6. mirror-3-dc: a replica in each of three realms, or two in each
// of two realms (a column of slots is a realm).
bool confirmed(const Geometry& geometry, const PartLayout& acknowledged);

// Can the blob's bytes be computed from these parts?
bool restorable(const Geometry& geometry, const PartLayout& readable);

// What a read may conclude when the parts in `readable` were found and the slots in `unknown`
// returned no definite answer (error, no reply, not yet replicated).
enum class Verdict : std::uint8_t {
  kReadable,  // Enough parts.
  kAbsent,    // Provably never confirmed: NODATA.
  kUnknown,   // Could have been confirmed, or too many disks do not answer: ERROR.
};
// kReadable when restorable(readable). Otherwise kUnknown when `unknown` is outside the fail model,
// or when the parts found, together with anything the unknown slots could hold, could be
// confirmed(). Otherwise kAbsent.
Verdict judge(const Geometry& geometry, const PartLayout& readable, DiskSet unknown);

}  // namespace moraine::blob
