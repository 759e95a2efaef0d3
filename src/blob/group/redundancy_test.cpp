#include "blob/group/redundancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace moraine::blob {
namespace {

GroupConfig group_of(const Geometry& geometry, std::uint32_t disks_per_node) {
  GroupConfig group;
  group.id = GroupId{7};
  group.geometry = geometry;
  for (std::uint32_t order = 0; order < geometry.disks(); ++order) {
    group.disks.push_back({NodeId{order / disks_per_node + 1}, order % disks_per_node + 1, 0});
  }
  return group;
}

std::vector<Geometry> shapes() {
  std::vector<Geometry> all;
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    all.push_back(Geometry::standard(species));
  }
  all.push_back(*Geometry::make(Species::kBlock42, 1, 9, 1));
  all.push_back(*Geometry::make(Species::kMirror3dc, 3, 4, 1));
  all.push_back(*Geometry::make(Species::kMirror3dc, 4, 3, 1));
  return all;
}

// By the definition: the largest number that may fail, whichever they are, over every subset.
int by_definition(const Geometry& geometry, DiskSet failed, const std::vector<DiskSet>& units) {
  if (!tolerated(geometry, failed)) return -1;
  int least_fatal = static_cast<int>(units.size()) + 1;
  for (std::uint32_t chosen = 1; chosen < 1u << units.size(); ++chosen) {
    if (std::popcount(chosen) >= least_fatal) continue;
    DiskSet all = failed;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if ((chosen >> i & 1) != 0) all |= units[i];
    }
    if (!tolerated(geometry, all)) least_fatal = std::popcount(chosen);
  }
  return least_fatal - 1;
}

TEST(Redundancy, IsTheDefinitionForEveryShapeAndEverySetOfFailedDisks) {
  for (const Geometry& geometry : shapes()) {
    std::vector<DiskSet> units;
    for (std::uint32_t order = 0; order < geometry.disks(); ++order) {
      units.push_back(disk_bit(order));
    }
    for (DiskSet failed = 0; failed <= geometry.all_disks(); ++failed) {
      // Tolerated sets are few; the rest must give -1.
      ASSERT_EQ(further_failures(geometry, failed, units), by_definition(geometry, failed, units))
          << to_string(geometry.species()) << " " << geometry.disks() << " failed " << failed;
    }
  }
}

TEST(Redundancy, CountsNodesThatHoldSeveralDisksAsOneFailure) {
  for (const Geometry& geometry : shapes()) {
    for (const std::uint32_t per_node : {1u, 2u, 3u, 8u, 9u}) {
      const GroupConfig group = group_of(geometry, per_node);
      std::vector<DiskSet> units;
      for (std::uint32_t first = 0; first < geometry.disks(); first += per_node) {
        DiskSet disks = 0;
        for (std::uint32_t i = first; i < std::min(first + per_node, geometry.disks()); ++i) {
          disks |= disk_bit(i);
        }
        units.push_back(disks);
      }
      for (DiskSet failed = 0; failed <= geometry.all_disks(); ++failed) {
        const Redundancy found = redundancy(group, ~failed, ~failed);
        ASSERT_EQ(found.nodes_survived, by_definition(geometry, failed, units))
            << to_string(geometry.species()) << " " << per_node << " a node, failed " << failed;
      }
    }
  }
}

TEST(Redundancy, SaysTheConditionForEverySetOfDisksThatServeAndThatAreReplicated) {
  for (const Geometry& geometry : shapes()) {
    if (geometry.disks() > 9) continue;
    const GroupConfig group = group_of(geometry, 1);
    for (DiskSet away = 0; away <= geometry.all_disks(); ++away) {
      for (DiskSet behind = 0; behind <= geometry.all_disks(); ++behind) {
        const Redundancy found = redundancy(group, ~away, ~behind);
        const DiskSet bad = away | behind;
        ASSERT_EQ(found.not_whole, bad);
        ASSERT_EQ(found.condition == GroupCondition::kNotAvailable, !tolerated(geometry, away));
        ASSERT_EQ(found.condition == GroupCondition::kWhole, bad == 0);
        if (found.condition == GroupCondition::kNotAvailable || bad == 0) continue;
        ASSERT_EQ(found.condition == GroupCondition::kDataAtRisk, !tolerated(geometry, bad));
        if (found.condition == GroupCondition::kDataAtRisk) continue;
        bool one_more = true;
        for (std::uint32_t order = 0; order < geometry.disks(); ++order) {
          one_more = one_more && tolerated(geometry, bad | disk_bit(order));
        }
        ASSERT_EQ(found.condition,
                  one_more ? GroupCondition::kDegraded : GroupCondition::kNoRedundancy);
        ASSERT_LE(found.disks_survived, found.disks_survived_at_best);
      }
    }
  }
}

TEST(Redundancy, SurvivesTwoDisksOfBothCodesAndNoneOfNone) {
  const auto at_best = [](Species species) {
    return redundancy(group_of(Geometry::standard(species), 1), ~DiskSet{0}, ~DiskSet{0})
        .disks_survived;
  };
  EXPECT_EQ(at_best(Species::kNone), 0);
  EXPECT_EQ(at_best(Species::kBlock42), 2);
  EXPECT_EQ(at_best(Species::kMirror3dc), 2);
}

TEST(Redundancy, IsDescribedInWords) {
  const GroupConfig eight = group_of(Geometry::standard(Species::kBlock42), 1);
  const GroupConfig four = group_of(Geometry::standard(Species::kBlock42), 2);
  const GroupConfig one = group_of(Geometry::standard(Species::kNone), 1);
  const auto words = [](const GroupConfig& group, DiskSet away, DiskSet behind) {
    return describe(redundancy(group, ~away, ~behind));
  };
  EXPECT_EQ(words(eight, 0, 0),
            "whole: all 8 disks ready and replicated; any 2 disks or any 2 nodes may fail");
  EXPECT_EQ(words(eight, 0b1, 0),
            "degraded: 1 of 8 disks is not whole; any 1 more disk or any 1 more node may fail");
  EXPECT_EQ(words(four, 0b1, 0),
            "degraded: 1 of 8 disks is not whole; any 1 more disk may fail, but no whole node");
  EXPECT_EQ(words(eight, 0b1, 0b10),
            "no redundancy left: 2 of 8 disks are not whole; the next failure may make data "
            "unreadable");
  EXPECT_EQ(words(eight, 0b1, 0b110),
            "data at risk: 3 of 8 disks are not whole, more than the group survives; data may be "
            "unreadable until they are");
  EXPECT_EQ(words(eight, 0b111, 0b1111),
            "not available: 3 of 8 disks are not ready, more than the group survives; commands "
            "fail until they are");
  EXPECT_EQ(words(one, 0, 0), "whole: 1 disk without redundancy, as configured");
  EXPECT_EQ(words(one, 1, 1),
            "not available: 1 of 1 disk is not ready, more than the group survives; commands fail "
            "until they are");
}

}  // namespace
}  // namespace moraine::blob
