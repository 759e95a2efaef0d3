#include "blob/group/quorum.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>
#include <vector>

#include "io/random.h"

namespace moraine::blob {
namespace {

const Geometry kNone = Geometry::standard(Species::kNone);
const Geometry kBlock = Geometry::standard(Species::kBlock42);
const Geometry kMirror = Geometry::standard(Species::kMirror3dc);

// Every set of block-4-2 parts on every slot that may hold them: 2^6 mains, 2^6 on each handoff.
void for_each_block_layout(const std::function<void(const PartLayout&)>& visit) {
  for (std::uint32_t mains = 0; mains < 64; ++mains) {
    PartLayout layout;
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
      layout.parts_at[slot] = static_cast<std::uint8_t>(mains & 1u << slot);
    }
    for (std::uint32_t handoffs = 0; handoffs < 64 * 64; ++handoffs) {
      layout.parts_at[6] = static_cast<std::uint8_t>(handoffs % 64);
      layout.parts_at[7] = static_cast<std::uint8_t>(handoffs / 64);
      visit(layout);
    }
  }
}

PartLayout mirror_layout(DiskSet slots) {
  PartLayout layout;
  for (std::uint32_t slot = 0; slot < 9; ++slot) {
    if (contains(slots, slot)) layout.add(slot, slot % 3 + 1);
  }
  return layout;
}

PartLayout without(PartLayout layout, DiskSet slots) {
  for (std::uint32_t slot = 0; slot < kSlotsMax; ++slot) {
    if (contains(slots, slot)) layout.parts_at[slot] = 0;
  }
  return layout;
}

// Everything that the slots may hold.
PartLayout full_layout(const Geometry& geometry, DiskSet slots) {
  PartLayout layout;
  for (std::uint32_t slot = 0; slot < geometry.slots(); ++slot) {
    for (std::uint32_t part = 1; part <= geometry.parts(); ++part) {
      if (contains(slots, slot) && geometry.allowed(slot, part)) layout.add(slot, part);
    }
  }
  return layout;
}

std::vector<DiskSet> tolerated_slot_sets(const Geometry& geometry) {
  std::vector<DiskSet> sets;
  for (DiskSet set = 0; set < disk_bit(geometry.slots()); ++set) {
    if (slots_tolerated(geometry, set)) sets.push_back(set);
  }
  return sets;
}

// One id for every placement that the geometry has.
std::vector<BlobId> ids_of_all_placements(const Geometry& geometry) {
  std::set<std::array<std::uint8_t, kSlotsMax>> seen;
  std::vector<BlobId> ids;
  for (Step step = 0; step < 500; ++step) {
    const BlobId id(TabletId{7}, 1, step, 0, 1, 0);
    if (seen.insert(geometry.subgroup(id).order).second) ids.push_back(id);
  }
  return ids;
}

// Which sets of block-4-2 parts can be assigned to slots, one each: bit s of the result is set s.
// Found by exhaustive search, to compare the matching with.
std::uint64_t matchable_sets(const PartLayout& layout) {
  constexpr std::array<std::uint64_t, 6> kSetsWithout{0x5555555555555555, 0x3333333333333333,
                                                      0x0f0f0f0f0f0f0f0f, 0x00ff00ff00ff00ff,
                                                      0x0000ffff0000ffff, 0x00000000ffffffff};
  std::uint64_t sets = 1;
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    std::uint64_t with_this_slot = sets;
    for (std::uint32_t part = 1; part <= 6; ++part) {
      if (!layout.has(slot, part) || !kBlock.allowed(slot, part)) continue;
      with_this_slot |= (sets & kSetsWithout[part - 1]) << (1u << (part - 1));
    }
    sets = with_this_slot;
  }
  return sets;
}

std::uint32_t largest_matchable_set(const PartLayout& layout) {
  const std::uint64_t sets = matchable_sets(layout);
  int largest = 0;
  for (std::uint32_t set = 0; set < 64; ++set) {
    if ((sets >> set & 1) != 0) largest = std::max(largest, std::popcount(set));
  }
  return static_cast<std::uint32_t>(largest);
}

TEST(Tolerated, NoneSurvivesNothing) {
  EXPECT_TRUE(tolerated(kNone, 0));
  EXPECT_FALSE(tolerated(kNone, 1));
  EXPECT_TRUE(group_quorum(kNone, 1));
  EXPECT_FALSE(group_quorum(kNone, 0));
}

TEST(Tolerated, Block42SurvivesAnyTwoDomains) {
  for (const std::uint32_t domains : {8u, 9u, 12u}) {
    const Geometry geometry = Geometry::make(Species::kBlock42, 1, domains, 1).value();
    for (DiskSet set = 0; set < disk_bit(domains); ++set) {
      ASSERT_EQ(tolerated(geometry, set), std::popcount(set) <= 2);
      ASSERT_EQ(group_quorum(geometry, set), std::popcount(set) >= static_cast<int>(domains) - 2);
    }
  }
}

TEST(Tolerated, Mirror3dcSurvives121Of512Sets) {
  std::array<int, 10> tolerated_by_size{};
  std::array<int, 10> fatal_by_size{};
  for (DiskSet set = 0; set < 512; ++set) {
    std::array<int, 3> realm{};
    for (std::uint32_t disk = 0; disk < 9; ++disk) realm[disk / 3] += contains(set, disk);
    int with_one = 0;
    int with_two = 0;
    for (const int failed : realm) {
      with_one += failed >= 1;
      with_two += failed >= 2;
    }
    const bool expected = with_one <= 2 && with_two <= 1;
    ASSERT_EQ(tolerated(kMirror, set), expected);
    ASSERT_EQ(group_quorum(kMirror, ~set & 511), expected);
    ++(expected ? tolerated_by_size : fatal_by_size)[static_cast<std::size_t>(std::popcount(set))];
  }
  EXPECT_EQ(tolerated_by_size, (std::array<int, 10>{1, 9, 36, 57, 18}));
  EXPECT_EQ(fatal_by_size[2], 0);
  EXPECT_EQ(fatal_by_size[3], 27);  // One disk in each realm.
}

TEST(Tolerated, Mirror3dcGroupQuorumShapes) {
  // Acknowledgements by realm: (3,2,0) is a quorum of five, (2,2,2) of six is none.
  EXPECT_TRUE(group_quorum(kMirror, 0b000'011'111));
  EXPECT_FALSE(group_quorum(kMirror, 0b011'011'011));
  EXPECT_FALSE(group_quorum(kMirror, 0b000'001'111));
  for (DiskSet set = 0; set < 512; ++set) {
    if (std::popcount(set) < 5) ASSERT_FALSE(group_quorum(kMirror, set));
  }
}

TEST(Tolerated, ADomainFailsWithAnyDiskAndCountsOnlyWithAll) {
  const Geometry block = Geometry::make(Species::kBlock42, 1, 8, 2).value();
  EXPECT_TRUE(tolerated(block, 0b11'11));           // All four disks of two domains.
  EXPECT_TRUE(tolerated(block, 0b01'10));           // One disk of each of them.
  EXPECT_FALSE(tolerated(block, 0b01'01'01));       // One disk of each of three.
  EXPECT_TRUE(group_quorum(block, 0x0fff));         // Six whole domains.
  EXPECT_FALSE(group_quorum(block, 0x5fff & ~1u));  // Five whole ones and three halves.

  const Geometry mirror = Geometry::make(Species::kMirror3dc, 3, 3, 3).value();
  const DiskSet first_realm = 0x1ff;
  const DiskSet domain_of_second = 0b111 << 9;
  const DiskSet domain_of_third = 0b001 << 18;
  EXPECT_TRUE(tolerated(mirror, first_realm | domain_of_second));
  EXPECT_FALSE(tolerated(mirror, first_realm | 0b001'001 << 9));
  EXPECT_FALSE(tolerated(mirror, 1 | domain_of_second | domain_of_third));
}

TEST(Tolerated, BitsBeyondTheGroupAreIgnored) {
  EXPECT_TRUE(tolerated(kBlock, ~DiskSet{0xff}));
  EXPECT_TRUE(slots_tolerated(kMirror, ~DiskSet{0x1ff}));
  EXPECT_EQ(tolerated_slot_sets(kBlock).size(), 37u);
  EXPECT_EQ(tolerated_slot_sets(kMirror).size(), 121u);
  EXPECT_EQ(tolerated_slot_sets(kNone).size(), 1u);
}

TEST(Layout, KnowsItsSlotsAndParts) {
  PartLayout layout;
  layout.add(0, 1);
  layout.add(7, 3);
  PartLayout other;
  other.add(7, 2);
  layout.merge(other);
  EXPECT_EQ(layout.slots(), disk_bit(0) | disk_bit(7));
  EXPECT_EQ(layout.distinct(), 0b111);
  EXPECT_TRUE(layout.has(7, 2));
  EXPECT_FALSE(layout.has(0, 2));
}

TEST(EffectiveParts, OfBlock42IsTheLargestMatchingForEveryLayout) {
  for_each_block_layout([](const PartLayout& layout) {
    const std::uint32_t expected = largest_matchable_set(layout);
    ASSERT_EQ(effective_parts(kBlock, layout), expected);
    ASSERT_EQ(confirmed(kBlock, layout), expected == 6);
  });
}

TEST(EffectiveParts, CountsOnlyPartsThatMayLiveInTheirSlot) {
  PartLayout layout;
  layout.add(0, 2);
  EXPECT_EQ(effective_parts(kBlock, layout), 0u);
  EXPECT_EQ(effective_parts(kMirror, layout), 0u);
  EXPECT_EQ(effective_parts(kNone, layout), 0u);
  layout.add(0, 1);
  layout.add(3, 1);
  EXPECT_EQ(effective_parts(kBlock, layout), 1u);
  EXPECT_EQ(effective_parts(kMirror, layout), 1u);
  EXPECT_EQ(effective_parts(kNone, layout), 1u);
  EXPECT_TRUE(confirmed(kNone, layout));
}

TEST(Confirmed, Block42NeedsDistinctPartsOnDistinctDisks) {
  PartLayout layout;
  for (std::uint32_t slot = 0; slot < 4; ++slot) layout.add(slot, slot + 1);
  layout.add(6, 5);
  layout.add(6, 6);
  EXPECT_EQ(effective_parts(kBlock, layout), 5u);
  EXPECT_FALSE(confirmed(kBlock, layout));  // Six parts, but two of them on one disk.
  layout.add(7, 5);
  EXPECT_TRUE(confirmed(kBlock, layout));
}

TEST(Confirmed, Mirror3dcHas391WriteQuorums) {
  int quorums = 0;
  int least = 9;
  int greatest_without = 0;
  for (DiskSet set = 0; set < 512; ++set) {
    std::array<int, 3> column{};
    for (std::uint32_t slot = 0; slot < 9; ++slot) column[slot % 3] += contains(set, slot);
    const int with_two = (column[0] >= 2) + (column[1] >= 2) + (column[2] >= 2);
    const bool expected = (column[0] && column[1] && column[2]) || with_two >= 2;
    ASSERT_EQ(confirmed(kMirror, mirror_layout(set)), expected);
    quorums += expected;
    const int size = std::popcount(set);
    if (expected) least = std::min(least, size);
    if (!expected) greatest_without = std::max(greatest_without, size);
  }
  EXPECT_EQ(quorums, 391);
  EXPECT_EQ(least, 3);
  EXPECT_EQ(greatest_without, 4);
}

TEST(Restorable, TakesFourDistinctPartsOrOneReplica) {
  for_each_block_layout([](const PartLayout& layout) {
    ASSERT_EQ(restorable(kBlock, layout), std::popcount(layout.distinct()) >= 4);
  });
  for (DiskSet set = 0; set < 512; ++set) {
    ASSERT_EQ(restorable(kMirror, mirror_layout(set)), set != 0);
  }
  EXPECT_FALSE(restorable(kNone, {}));
  EXPECT_TRUE(restorable(kNone, full_layout(kNone, 1)));
}

TEST(Durability, Block42KeepsEveryConfirmedLayoutUnderEveryToleratedLoss) {
  const std::vector<DiskSet> losses = tolerated_slot_sets(kBlock);
  int layouts = 0;
  for_each_block_layout([&](const PartLayout& layout) {
    if (!confirmed(kBlock, layout)) return;
    ++layouts;
    for (const DiskSet lost : losses) ASSERT_TRUE(restorable(kBlock, without(layout, lost)));
  });
  EXPECT_GT(layouts, 4096);
}

TEST(Durability, Mirror3dcKeepsEveryConfirmedLayoutUnderEveryToleratedLoss) {
  const std::vector<DiskSet> losses = tolerated_slot_sets(kMirror);
  for (DiskSet set = 0; set < 512; ++set) {
    if (!confirmed(kMirror, mirror_layout(set))) continue;
    for (const DiskSet lost : losses) {
      ASSERT_TRUE(restorable(kMirror, mirror_layout(set & ~lost)));
    }
  }
}

TEST(Durability, EveryToleratedLossLeavesAWriteQuorum) {
  for (const Geometry& geometry : {kNone, kBlock, kMirror}) {
    for (const DiskSet lost : tolerated_slot_sets(geometry)) {
      ASSERT_TRUE(confirmed(geometry, full_layout(geometry, ~lost)));
    }
  }
}

// Group quorums intersect each other, and every failure set that the group tolerates is tolerated
// by every blob in it: so a group quorum intersects every write quorum, and a tolerated loss leaves
// every confirmed blob readable.
TEST(Quorums, IntersectOnEveryShape) {
  const std::vector<std::tuple<Species, int, int, int>> shapes{
      {Species::kNone, 1, 4, 1},      {Species::kBlock42, 1, 8, 1},
      {Species::kBlock42, 1, 9, 1},   {Species::kBlock42, 1, 12, 1},
      {Species::kMirror3dc, 3, 3, 1}, {Species::kMirror3dc, 3, 4, 1},
      {Species::kMirror3dc, 4, 3, 1},
  };
  for (const auto& [species, realms, domains, vdisks] : shapes) {
    const Geometry geometry = Geometry::make(species, realms, domains, vdisks).value();
    const std::vector<BlobId> ids = ids_of_all_placements(geometry);
    std::vector<DiskSet> losses;
    for (DiskSet set = 0; set <= geometry.all_disks(); ++set) {
      if (tolerated(geometry, set)) losses.push_back(set);
    }
    for (const DiskSet lost : losses) {
      for (const DiskSet also_lost : losses) {
        ASSERT_NE(lost | also_lost, geometry.all_disks());
      }
      for (const BlobId& id : ids) {
        const auto group = geometry.subgroup(id);
        DiskSet lost_slots = 0;
        for (std::uint32_t slot = 0; slot < group.size; ++slot) {
          if (contains(lost, group.order[slot])) lost_slots |= disk_bit(slot);
        }
        ASSERT_TRUE(slots_tolerated(geometry, lost_slots));
        ASSERT_FALSE(confirmed(geometry, full_layout(geometry, lost_slots)));
      }
    }
  }
}

TEST(Judge, AnIdNeverWrittenIsAbsentWhileTheFailModelHolds) {
  for (const Geometry& geometry : {kNone, kBlock, kMirror}) {
    for (DiskSet down = 0; down < disk_bit(geometry.slots()); ++down) {
      ASSERT_EQ(judge(geometry, {}, down),
                slots_tolerated(geometry, down) ? Verdict::kAbsent : Verdict::kUnknown);
    }
  }
}

TEST(Judge, AConfirmedBlobIsNeverAbsentWhateverIsDown) {
  for (DiskSet set = 0; set < 512; ++set) {
    if (!confirmed(kMirror, mirror_layout(set))) continue;
    for (DiskSet down = 0; down < 512; ++down) {
      const Verdict verdict = judge(kMirror, mirror_layout(set & ~down), down);
      ASSERT_NE(verdict, Verdict::kAbsent);
      if (slots_tolerated(kMirror, down)) ASSERT_EQ(verdict, Verdict::kReadable);
    }
  }
  // Block-4-2: the smallest confirmed layouts, each part on exactly one disk.
  int layouts = 0;
  for_each_block_layout([&](const PartLayout& layout) {
    int copies = 0;
    for (const std::uint8_t parts : layout.parts_at) copies += std::popcount(parts);
    if (copies != 6 || !confirmed(kBlock, layout)) return;
    ++layouts;
    for (DiskSet down = 0; down < 256; ++down) {
      const Verdict verdict = judge(kBlock, without(layout, down), down);
      ASSERT_NE(verdict, Verdict::kAbsent);
      if (slots_tolerated(kBlock, down)) ASSERT_EQ(verdict, Verdict::kReadable);
    }
  });
  EXPECT_EQ(layouts, 1 + 6 * 2 + 15 * 2);
}

TEST(Judge, APartialWriteIsAbsentBelowFourPartsAndReadableFromFour) {
  for (std::uint32_t mains = 0; mains < 64; ++mains) {
    const int parts = std::popcount(mains);
    const PartLayout found = full_layout(kBlock, mains);
    EXPECT_EQ(judge(kBlock, found, 0), parts >= 4 ? Verdict::kReadable : Verdict::kAbsent);
    // Three disks that do not answer could hold what is missing.
    if (parts == 3) EXPECT_EQ(judge(kBlock, found, ~mains & 63), Verdict::kUnknown);
  }
}

// By exhaustive search: try everything that the unknown slots could hold.
bool could_be_confirmed(PartLayout layout, DiskSet unknown, std::uint32_t slot = 0) {
  while (slot < 8 && !contains(unknown, slot)) ++slot;
  if (slot == 8) return (matchable_sets(layout) >> 63) != 0;
  const std::uint8_t found = layout.parts_at[slot];
  for (std::uint32_t parts = 0; parts < 64; ++parts) {
    if (slot < 6 && (parts & ~(1u << slot)) != 0) continue;
    layout.parts_at[slot] = static_cast<std::uint8_t>(found | parts);
    if (could_be_confirmed(layout, unknown, slot + 1)) return true;
  }
  return false;
}

TEST(Judge, AgreesWithItsDefinitionOnBlock42) {
  SeededRandom random(6);
  for (int round = 0; round < 400; ++round) {
    PartLayout found;
    const std::uint64_t mains = random.next() & random.next();
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
      if ((mains >> slot & 1) != 0) found.add(slot, slot + 1);
    }
    for (const std::uint32_t handoff : {6u, 7u}) {
      if (random.one_in(2)) found.add(handoff, static_cast<std::uint32_t>(1 + random.below(6)));
      if (random.one_in(4)) found.add(handoff, static_cast<std::uint32_t>(1 + random.below(6)));
    }
    for (DiskSet unknown = 0; unknown < 256; ++unknown) {
      Verdict expected = Verdict::kAbsent;
      if (std::popcount(found.distinct()) >= 4) {
        expected = Verdict::kReadable;
      } else if (std::popcount(unknown) > 2 || could_be_confirmed(found, unknown)) {
        expected = Verdict::kUnknown;
      }
      ASSERT_EQ(judge(kBlock, found, unknown), expected);
    }
  }
}

TEST(Judge, AgreesWithItsDefinitionOnMirror3dc) {
  for (DiskSet found = 0; found < 512; ++found) {
    for (DiskSet unknown = 0; unknown < 512; ++unknown) {
      Verdict expected = Verdict::kAbsent;
      if (found != 0) {
        expected = Verdict::kReadable;
      } else if (!slots_tolerated(kMirror, unknown) || confirmed(kMirror, mirror_layout(unknown))) {
        expected = Verdict::kUnknown;
      }
      ASSERT_EQ(judge(kMirror, mirror_layout(found), unknown), expected);
    }
  }
}

}  // namespace
}  // namespace moraine::blob
