#include "blob/group/geometry.h"

#include "base/invariant.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kRealmsUsed = 3;   // Columns of a mirror-3-dc subgroup.
constexpr std::uint32_t kDomainsUsed = 3;  // Rows of a mirror-3-dc subgroup.

// splitmix64: chooses the vdisk of a domain for a part. Must never change: placement depends on it.
class Draws {
 public:
  explicit Draws(std::uint32_t hash) : state_(hash) {}

  std::uint32_t below(std::uint32_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return static_cast<std::uint32_t>((mixed >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

// Why a shape is invalid; empty when it is valid.
std::string shape_fault(Species species, std::uint64_t realms, std::uint64_t domains,
                        std::uint64_t vdisks) {
  if (realms == 0 || domains == 0 || vdisks == 0) return "no count may be 0";
  if (realms > kGroupDisksMax || domains > kGroupDisksMax || vdisks > kGroupDisksMax ||
      realms * domains * vdisks > kGroupDisksMax) {
    return fmt::format("more than {} disks", kGroupDisksMax);
  }
  if (species != Species::kMirror3dc && realms != 1) return "it takes exactly one realm";
  if (species == Species::kBlock42 && domains < 8) return "it needs at least 8 fail domains";
  if (species == Species::kMirror3dc && realms < kRealmsUsed) return "it needs at least 3 realms";
  if (species == Species::kMirror3dc && domains < kDomainsUsed) {
    return "it needs at least 3 fail domains in each realm";
  }
  return {};
}

}  // namespace

std::string_view to_string(Species species) {
  switch (species) {
    case Species::kNone: return "none";
    case Species::kBlock42: return "block-4-2";
    case Species::kMirror3dc: return "mirror-3-dc";
  }
  return "unknown species";
}

Result<Species> parse_species(std::string_view text) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    if (text == to_string(species)) return species;
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("species {:?} is not one of none, block-4-2, mirror-3-dc", text));
}

Result<Geometry> Geometry::make(Species species, std::uint32_t realms, std::uint32_t domains,
                                std::uint32_t vdisks) {
  const std::string fault = shape_fault(species, realms, domains, vdisks);
  if (!fault.empty()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a {} group of {}x{}x{} disks: {}", to_string(species), realms, domains,
                            vdisks, fault));
  }
  return Geometry(species, realms, domains, vdisks);
}

Geometry Geometry::standard(Species species) {
  switch (species) {
    case Species::kNone: return Geometry(species, 1, 1, 1);
    case Species::kBlock42: return Geometry(species, 1, 8, 1);
    case Species::kMirror3dc: return Geometry(species, 3, 3, 1);
  }
  INVARIANT(false, "species {} has no standard shape", static_cast<int>(species));
}

Coordinates Geometry::coordinates(std::uint32_t order) const {
  INVARIANT(order < disks(), "disk {} of a group of {}", order, disks());
  return {static_cast<std::uint8_t>(order / vdisks_ / domains_),
          static_cast<std::uint8_t>(order / vdisks_ % domains_),
          static_cast<std::uint8_t>(order % vdisks_)};
}

std::uint32_t Geometry::order(Coordinates at) const {
  INVARIANT(at.realm < realms_ && at.domain < domains_ && at.vdisk < vdisks_,
            "no disk {}:{}:{} in a group of {}x{}x{}", at.realm, at.domain, at.vdisk, realms_,
            domains_, vdisks_);
  return (at.realm * domains_ + at.domain) * vdisks_ + at.vdisk;
}

int Geometry::Subgroup::slot_of(std::uint32_t disk_order) const {
  for (int slot = 0; slot < size; ++slot) {
    if (order[static_cast<std::size_t>(slot)] == disk_order) return slot;
  }
  return -1;
}

Geometry::Subgroup Geometry::subgroup(const BlobId& id) const {
  const std::uint32_t hash = id.hash();
  return species_ == Species::kMirror3dc ? mirror3dc_subgroup(hash) : ring_subgroup(hash);
}

Geometry::Subgroup Geometry::ring_subgroup(std::uint32_t hash) const {
  Subgroup group;
  group.size = static_cast<std::uint8_t>(slots());
  // The remainder is taken before the slot is added, so that the sum cannot overflow 2^32.
  std::uint32_t domain = hash % domains_;
  for (std::uint32_t slot = 0; slot < group.size; ++slot) {
    group.order[slot] = static_cast<std::uint8_t>(domain);
    domain = domain + 1 == domains_ ? 0 : domain + 1;
  }
  if (vdisks_ == 1) return group;
  Draws draws(hash);
  for (std::uint32_t slot = 0; slot < group.size; ++slot) {
    group.order[slot] =
        static_cast<std::uint8_t>(group.order[slot] * vdisks_ + draws.below(vdisks_));
  }
  return group;
}

Geometry::Subgroup Geometry::mirror3dc_subgroup(std::uint32_t hash) const {
  Subgroup group;
  group.size = kRealmsUsed * kDomainsUsed;
  const std::uint32_t base_realm = hash % realms_;
  hash /= realms_;
  std::uint32_t domain = hash % domains_;
  hash /= domains_;
  const std::uint32_t vdisk = hash % vdisks_;
  for (std::uint32_t row = 0; row < kDomainsUsed; ++row) {
    std::uint32_t realm = base_realm;
    for (std::uint32_t column = 0; column < kRealmsUsed; ++column) {
      group.order[row * kRealmsUsed + column] =
          static_cast<std::uint8_t>((realm * domains_ + domain) * vdisks_ + vdisk);
      realm = realm + 1 == realms_ ? 0 : realm + 1;
    }
    domain = domain + 1 == domains_ ? 0 : domain + 1;
  }
  return group;
}

bool Geometry::allowed(std::uint32_t slot, std::uint32_t part) const {
  if (slot >= slots() || part == 0 || part > parts()) return false;
  if (species_ == Species::kMirror3dc) return slot % kRealmsUsed + 1 == part;
  return !is_main(slot) || main_part(slot) == part;
}

}  // namespace moraine::blob
