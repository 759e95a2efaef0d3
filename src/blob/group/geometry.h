// The shape of a group: its disks, and which of them hold which part of a blob.
//
// Promise    Pure functions of (species, shape, blob id): every process computes the same
//            placement.
// Invariants (1) A subgroup has `slots()` disks, all of different fail domains. (2) Slots below
//            `parts()` are mains: main slot i holds part i+1. Later slots are handoffs.
//            (3) Placement does not depend on the size or part of an id.
// Placement  h = id.hash(). none, block-4-2: slot i is in domain (h mod D + i) mod D, its vdisk
//            drawn from a generator seeded with h. mirror-3-dc: slot i is in realm
//            (h mod R + i mod 3) mod R and domain (h / R mod D + i div 3) mod D, vdisk
//            h / R / D mod V; so slots of a column (i mod 3) share a realm, slots of a row a domain
//            number. Changing any of this loses the data of every existing group.
// Limits     kGroupDisksMax disks in a group.
// Terms      order: a disk's number in its group (realm, then domain, then vdisk). slot: a disk's
//            number in the subgroup of one blob. part: 1-based fragment number, as in BlobId.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "blob/blob_id.h"

namespace moraine::blob {

enum class Species : std::uint8_t { kNone = 0, kBlock42 = 4, kMirror3dc = 9 };

std::string_view to_string(Species species);  // "none", "block-4-2", "mirror-3-dc"
Result<Species> parse_species(std::string_view text);

inline constexpr std::uint32_t kPartsMax = 6;
inline constexpr std::uint32_t kSlotsMax = 9;
inline constexpr std::uint32_t kGroupDisksMax = 32;

// A set of disks of a group by order, or of slots of a subgroup.
using DiskSet = std::uint32_t;
constexpr DiskSet disk_bit(std::uint32_t i) {
  return DiskSet{1} << i;
}
constexpr bool contains(DiskSet set, std::uint32_t i) {
  return (set >> i & 1) != 0;
}

struct Coordinates {
  std::uint8_t realm = 0;
  std::uint8_t domain = 0;
  std::uint8_t vdisk = 0;
  auto operator<=>(const Coordinates&) const = default;
};

class Geometry {
 public:
  Geometry() = default;  // The default shape of none.
  // Fails with the reason when the shape does not fit the species: none and block-4-2 take one
  // realm; block-4-2 at least 8 domains; mirror-3-dc at least 3 realms of at least 3 domains; at
  // most kGroupDisksMax disks in all.
  static Result<Geometry> make(Species species, std::uint32_t realms, std::uint32_t domains,
                               std::uint32_t vdisks);
  // The default shape: 1x1x1, 1x8x1, 3x3x1.
  static Geometry standard(Species species);

  Species species() const { return species_; }
  std::uint32_t realms() const { return realms_; }
  std::uint32_t domains() const { return domains_; }  // In each realm.
  std::uint32_t vdisks() const { return vdisks_; }    // In each domain.
  std::uint32_t disks() const { return realms_ * domains_ * vdisks_; }
  DiskSet all_disks() const { return ~DiskSet{0} >> (kGroupDisksMax - disks()); }
  // Requires: order < disks().
  Coordinates coordinates(std::uint32_t order) const;
  // Requires: the coordinates are within the shape.
  std::uint32_t order(Coordinates at) const;

  // Disks in a blob's subgroup.
  std::uint32_t slots() const { return choose(1, 8, 9); }
  std::uint32_t parts() const { return choose(1, 6, 3); }
  // Distinct parts needed to restore the blob.
  std::uint32_t parts_to_restore() const { return choose(1, 4, 1); }

  // The disks (by order) of `id`'s subgroup, slot by slot.
  struct Subgroup {
    std::array<std::uint8_t, kSlotsMax> order{};
    std::uint8_t size = 0;
    // The slot of a disk, or -1 when it is not in the subgroup.
    int slot_of(std::uint32_t disk_order) const;
  };
  Subgroup subgroup(const BlobId& id) const;

  // May `part` be stored in `slot`? Mains hold only their own part; block-4-2 handoffs any part;
  // mirror-3-dc slot i only part i % 3 + 1. False for slots and parts that do not exist.
  bool allowed(std::uint32_t slot, std::uint32_t part) const;
  bool is_main(std::uint32_t slot) const { return slot < parts(); }
  // The part that main slot holds.
  static std::uint32_t main_part(std::uint32_t slot) { return slot + 1; }

 private:
  Geometry(Species species, std::uint32_t realms, std::uint32_t domains, std::uint32_t vdisks)
      : species_(species), realms_(realms), domains_(domains), vdisks_(vdisks) {}

  std::uint32_t choose(std::uint32_t none, std::uint32_t block42, std::uint32_t mirror3dc) const {
    if (species_ == Species::kBlock42) return block42;
    return species_ == Species::kMirror3dc ? mirror3dc : none;
  }
  Subgroup ring_subgroup(std::uint32_t hash) const;
  Subgroup mirror3dc_subgroup(std::uint32_t hash) const;

  Species species_ = Species::kNone;
  std::uint32_t realms_ = 1;
  std::uint32_t domains_ = 1;
  std::uint32_t vdisks_ = 1;
};

}  // namespace moraine::blob
