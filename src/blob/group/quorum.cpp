#include "blob/group/quorum.h"

#include <algorithm>
#include <bit>

namespace moraine::blob {
namespace {

constexpr std::uint32_t kColumns = 3;  // Realms of a mirror-3-dc subgroup.
constexpr std::uint32_t kRows = 3;
constexpr std::uint32_t kBlock42Losses = 2;

std::uint32_t count(std::uint32_t set) {
  return static_cast<std::uint32_t>(std::popcount(set));
}

DiskSet lowest_bits(std::uint32_t n) {
  return n >= kGroupDisksMax ? ~DiskSet{0} : disk_bit(n) - 1;
}

// Failed domains by realm, as the fail model of mirror-3-dc counts them.
struct RealmCounts {
  std::uint32_t with_one = 0;  // Realms with at least one.
  std::uint32_t with_two = 0;  // Realms with at least two.

  void add(std::uint32_t domains) {
    with_one += domains >= 1;
    with_two += domains >= 2;
  }
  bool tolerated() const { return with_one <= 2 && with_two <= 1; }
};

// Removes the lowest `n` bits from the set and returns them.
DiskSet take_lowest(DiskSet& set, std::uint32_t n) {
  const DiskSet taken = set & lowest_bits(n);
  set = n >= kGroupDisksMax ? 0 : set >> n;
  return taken;
}

// One bit for each domain in which any disk of `set` is, in order.
DiskSet domains_with(const Geometry& geometry, DiskSet set) {
  if (geometry.vdisks() == 1) return set;
  DiskSet found = 0;
  for (std::uint32_t domain = 0; set != 0; ++domain) {
    if (take_lowest(set, geometry.vdisks()) != 0) found |= disk_bit(domain);
  }
  return found;
}

// One bit for each slot that holds a part which may live there.
DiskSet mirror3dc_replicas(const PartLayout& layout) {
  DiskSet slots = 0;
  for (std::uint32_t slot = 0; slot < kColumns * kRows; ++slot) {
    if (layout.has(slot, slot % kColumns + 1)) slots |= disk_bit(slot);
  }
  return slots;
}

RealmCounts count_columns(DiskSet slots) {
  constexpr DiskSet kColumn = 0b001'001'001;
  RealmCounts counts;
  for (std::uint32_t column = 0; column < kColumns; ++column) {
    counts.add(count(slots & kColumn << column));
  }
  return counts;
}

// Mains match their own part: using it there is never worse. The two handoffs then match what is
// left.
std::uint32_t block42_matching(const PartLayout& layout) {
  constexpr std::uint32_t kMains = 6;
  std::uint32_t missing = 0;
  for (std::uint32_t slot = 0; slot < kMains; ++slot) {
    if (!layout.has(slot, slot + 1)) missing |= 1u << slot;
  }
  const std::uint32_t first = layout.parts_at[kMains] & missing;
  const std::uint32_t second = layout.parts_at[kMains + 1] & missing;
  const std::uint32_t filled =
      static_cast<std::uint32_t>(first != 0) + static_cast<std::uint32_t>(second != 0);
  return kMains - count(missing) + std::min(filled, count(first | second));
}

}  // namespace

bool tolerated(const Geometry& geometry, DiskSet failed) {
  failed &= geometry.all_disks();
  switch (geometry.species()) {
    case Species::kNone: return failed == 0;
    case Species::kBlock42: return count(domains_with(geometry, failed)) <= kBlock42Losses;
    case Species::kMirror3dc: break;
  }
  DiskSet domains = domains_with(geometry, failed);
  RealmCounts counts;
  for (std::uint32_t realm = 0; realm < geometry.realms(); ++realm) {
    counts.add(count(take_lowest(domains, geometry.domains())));
  }
  return counts.tolerated();
}

bool group_quorum(const Geometry& geometry, DiskSet acknowledged) {
  return tolerated(geometry, ~acknowledged);
}

bool slots_tolerated(const Geometry& geometry, DiskSet failed_slots) {
  failed_slots &= lowest_bits(geometry.slots());
  switch (geometry.species()) {
    case Species::kNone: return failed_slots == 0;
    case Species::kBlock42: return count(failed_slots) <= kBlock42Losses;
    case Species::kMirror3dc: break;
  }
  return count_columns(failed_slots).tolerated();
}

DiskSet PartLayout::slots() const {
  DiskSet set = 0;
  for (std::uint32_t slot = 0; slot < kSlotsMax; ++slot) {
    if (parts_at[slot] != 0) set |= disk_bit(slot);
  }
  return set;
}

std::uint8_t PartLayout::distinct() const {
  std::uint8_t parts = 0;
  for (const std::uint8_t here : parts_at) parts = static_cast<std::uint8_t>(parts | here);
  return parts;
}

std::uint32_t effective_parts(const Geometry& geometry, const PartLayout& layout) {
  switch (geometry.species()) {
    case Species::kNone: return layout.has(0, 1) ? 1 : 0;
    case Species::kBlock42: return block42_matching(layout);
    case Species::kMirror3dc: break;
  }
  return count_columns(mirror3dc_replicas(layout)).with_one;
}

bool confirmed(const Geometry& geometry, const PartLayout& acknowledged) {
  if (geometry.species() != Species::kMirror3dc) {
    return effective_parts(geometry, acknowledged) == geometry.parts();
  }
  const RealmCounts counts = count_columns(mirror3dc_replicas(acknowledged));
  return counts.with_one == 3 || counts.with_two >= 2;
}

bool restorable(const Geometry& geometry, const PartLayout& readable) {
  const std::uint32_t parts = readable.distinct() & lowest_bits(geometry.parts());
  return count(parts) >= geometry.parts_to_restore();
}

Verdict judge(const Geometry& geometry, const PartLayout& readable, DiskSet unknown) {
  if (restorable(geometry, readable)) return Verdict::kReadable;
  if (!slots_tolerated(geometry, unknown)) return Verdict::kUnknown;
  PartLayout at_best = readable;
  for (std::uint32_t slot = 0; slot < geometry.slots(); ++slot) {
    if (contains(unknown, slot)) at_best.parts_at[slot] = 0xff;
  }
  return confirmed(geometry, at_best) ? Verdict::kUnknown : Verdict::kAbsent;
}

}  // namespace moraine::blob
