#include "blob/ingress.h"

#include "base/invariant.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kPresentShift = 2;
constexpr std::uint32_t kHandoffPresentShift = 8;
constexpr std::uint32_t kMovedShift = 20;
constexpr std::uint32_t kBlock42Parts = 6;

}  // namespace

std::uint32_t present_bit(const Geometry& geometry, std::uint32_t slot, std::uint32_t part) {
  INVARIANT(geometry.allowed(slot, part), "slot {} cannot hold part {}", slot, part);
  if (geometry.species() != Species::kBlock42 || slot < kBlock42Parts) {
    return 1u << (kPresentShift + slot);
  }
  return 1u << (kHandoffPresentShift + (slot - kBlock42Parts) * kBlock42Parts + part - 1);
}

std::uint32_t moved_bit(const Geometry& geometry, std::uint32_t slot, std::uint32_t part) {
  INVARIANT(!geometry.is_main(slot), "slot {} is a main: its part is never moved", slot);
  if (geometry.species() != Species::kBlock42) return 1u << (kMovedShift + slot);
  return 1u << (kMovedShift + (slot - kBlock42Parts) * kBlock42Parts + part - 1);
}

PartLayout layout_of(const Geometry& geometry, Ingress ingress) {
  PartLayout layout;
  for (std::uint32_t slot = 0; slot < geometry.slots(); ++slot) {
    for (std::uint32_t part = 1; part <= geometry.parts(); ++part) {
      if (!geometry.allowed(slot, part)) continue;
      if ((ingress.bits & present_bit(geometry, slot, part)) == 0) continue;
      if (!geometry.is_main(slot) && (ingress.bits & moved_bit(geometry, slot, part)) != 0)
        continue;
      layout.add(slot, part);
    }
  }
  return layout;
}

DiskSet out_of_date(const Geometry& geometry, Ingress all, const OwnIngresses& own) {
  const PartLayout known = layout_of(geometry, all);
  DiskSet slots = 0;
  for (std::uint32_t slot = 0; slot < geometry.slots(); ++slot) {
    for (std::uint32_t part = 1; part <= geometry.parts(); ++part) {
      if (!known.has(slot, part)) continue;
      if ((own[slot].bits & present_bit(geometry, slot, part)) == 0) slots |= disk_bit(slot);
    }
  }
  return slots;
}

}  // namespace moraine::blob
