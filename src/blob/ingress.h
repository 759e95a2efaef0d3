// The bits of an Ingress: all that disks tell each other of one blob.
//
//   bit 0      Keep
//   bit 1      DoNotKeep
//   bits 2-10  slot i acknowledged its part (block-4-2: mains only, bits 2-7; mirror-3-dc: slots
//              0-8, as each slot holds exactly one part; none: 1 used)
//   bits 8-19  block-4-2 only: handoff 6 then 7, six bits each: part p was acknowledged there
//   bits 20-31 block-4-2 only: handoff 6 then 7, six bits each: part p was moved home from there
//   bits 20-28 mirror-3-dc: slot i's copy was moved home
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

// The bit that says "slot acknowledged part". Requires: geometry.allowed(slot, part).
std::uint32_t present_bit(const Geometry& geometry, std::uint32_t slot, std::uint32_t part);
// The bit that says "slot gave part back to its main". Requires: slot is a handoff.
std::uint32_t moved_bit(const Geometry& geometry, std::uint32_t slot, std::uint32_t part);

// Everything acknowledged and not moved away, as these facts tell it.
PartLayout layout_of(const Geometry& geometry, Ingress ingress);

// What each slot says of a blob by its own word; zero of slots that were not heard.
using OwnWords = std::array<Ingress, kSlotsMax>;
// Slots of which `all` tells that they acknowledged a part, and that do not know it themselves:
// they spoke before they got it, and their word proves nothing any more.
DiskSet out_of_date(const Geometry& geometry, Ingress all, const OwnWords& own);

}  // namespace moraine::blob
