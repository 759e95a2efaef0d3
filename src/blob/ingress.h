// The bits of an Ingress: everything that disks exchange about one blob.
//
//   bit 0      Keep
//   bit 1      DoNotKeep
//   bits 2-10  slot i acknowledged its part (block-4-2: mains only, bits 2-7; mirror-3-dc: slots
//              0-8, as each slot holds exactly one part; none: 1 used)
//   bits 8-19  block-4-2 only: handoff 6 then 7, six bits each: part p was acknowledged there
//   bits 20-31 block-4-2 only: handoff 6 then 7, six bits each: part p was moved to its main
//   bits 20-28 mirror-3-dc: slot i's copy was moved to its main
//
// Promise    Merging is OR, so facts may arrive in any order and any number of times.
#pragma once

#include <array>

#include "blob/protocol.h"

namespace moraine::blob {

inline constexpr std::uint32_t kKeepBit = 1;
inline constexpr std::uint32_t kDoNotKeepBit = 2;

inline bool keep_flag(Ingress ingress) {
  return (ingress.bits & kKeepBit) != 0;
}
inline bool do_not_keep_flag(Ingress ingress) {
  return (ingress.bits & kDoNotKeepBit) != 0;
}
inline bool flagged(Ingress ingress) {
  return (ingress.bits & (kKeepBit | kDoNotKeepBit)) != 0;
}
inline Ingress merge(Ingress a, Ingress b) {
  return {a.bits | b.bits};
}

// The bit for "slot acknowledged part". Requires: geometry.allowed(slot, part).
std::uint32_t present_bit(const Geometry& geometry, std::uint32_t slot, std::uint32_t part);
// The bit for "slot moved part to its main". Requires: slot is a handoff.
std::uint32_t moved_bit(const Geometry& geometry, std::uint32_t slot, std::uint32_t part);

// Every part that was acknowledged and not moved away, by these facts.
PartLayout layout_of(const Geometry& geometry, Ingress ingress);

// What each slot itself reported about a blob; zero for slots that did not answer.
using OwnIngresses = std::array<Ingress, kSlotsMax>;
// Slots that acknowledged a part by `all`, but whose own report lacks it: they answered before they
// stored it, so their answers are out of date.
DiskSet out_of_date(const Geometry& geometry, Ingress all, const OwnIngresses& own);

}  // namespace moraine::blob
