#include "blob/group/geometry.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "io/random.h"

namespace moraine::blob {
namespace {

// Shapes with spare domains, spare realms and several disks in a domain.
std::vector<Geometry> shapes() {
  const std::vector<std::tuple<Species, int, int, int>> wanted{
      {Species::kNone, 1, 1, 1},      {Species::kNone, 1, 5, 2},
      {Species::kNone, 1, 32, 1},     {Species::kBlock42, 1, 8, 1},
      {Species::kBlock42, 1, 9, 1},   {Species::kBlock42, 1, 12, 1},
      {Species::kBlock42, 1, 32, 1},  {Species::kBlock42, 1, 8, 4},
      {Species::kBlock42, 1, 9, 3},   {Species::kMirror3dc, 3, 3, 1},
      {Species::kMirror3dc, 3, 4, 1}, {Species::kMirror3dc, 3, 10, 1},
      {Species::kMirror3dc, 4, 3, 1}, {Species::kMirror3dc, 5, 3, 2},
      {Species::kMirror3dc, 3, 3, 3},
  };
  std::vector<Geometry> made;
  made.reserve(wanted.size());
  for (const auto& [species, realms, domains, vdisks] : wanted) {
    made.push_back(Geometry::make(species, realms, domains, vdisks).value());
  }
  return made;
}

std::string shape_error(Species species, std::uint32_t realms, std::uint32_t domains,
                        std::uint32_t vdisks) {
  const auto geometry = Geometry::make(species, realms, domains, vdisks);
  return geometry ? "made" : geometry.error().context;
}

BlobId random_id(Random& random) {
  return BlobId(TabletId{random.next()}, static_cast<Generation>(random.next()),
                static_cast<Step>(random.next()), static_cast<Channel>(random.next()), 100,
                static_cast<std::uint32_t>(random.below(std::uint64_t{kCookieMax} + 1)));
}

std::vector<int> domains_of(const Geometry& geometry, std::string_view id) {
  const auto group = geometry.subgroup(BlobId::parse(id).value());
  std::vector<int> domains;
  domains.reserve(group.size);
  for (int slot = 0; slot < group.size; ++slot) {
    domains.push_back(geometry.coordinates(group.order[slot]).domain);
  }
  return domains;
}

TEST(Species, NamesRoundTrip) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    EXPECT_EQ(parse_species(to_string(species)), species);
  }
  EXPECT_EQ(parse_species("block42").error().context,
            "species \"block42\" is not one of none, block-4-2, mirror-3-dc");
}

TEST(Geometry, StandardShapesAreTheSeedOnes) {
  const auto check = [](Species species, std::uint32_t disks, std::uint32_t slots,
                        std::uint32_t parts, std::uint32_t needed) {
    const Geometry geometry = Geometry::standard(species);
    EXPECT_EQ(geometry.disks(), disks);
    EXPECT_EQ(geometry.slots(), slots);
    EXPECT_EQ(geometry.parts(), parts);
    EXPECT_EQ(geometry.parts_to_restore(), needed);
    EXPECT_EQ(geometry.all_disks(), (std::uint64_t{1} << disks) - 1);
  };
  check(Species::kNone, 1, 1, 1, 1);
  check(Species::kBlock42, 8, 8, 6, 4);
  check(Species::kMirror3dc, 9, 9, 3, 1);
  EXPECT_EQ(Geometry::make(Species::kBlock42, 1, 32, 1)->all_disks(), ~DiskSet{0});
}

TEST(Geometry, RefusesShapesThatCannotCarryTheSpecies) {
  EXPECT_EQ(shape_error(Species::kBlock42, 1, 7, 1),
            "a block-4-2 group of 1x7x1 disks: it needs at least 8 fail domains");
  EXPECT_EQ(shape_error(Species::kBlock42, 2, 8, 1),
            "a block-4-2 group of 2x8x1 disks: it takes exactly one realm");
  EXPECT_EQ(shape_error(Species::kNone, 3, 1, 1),
            "a none group of 3x1x1 disks: it takes exactly one realm");
  EXPECT_EQ(shape_error(Species::kMirror3dc, 2, 3, 1),
            "a mirror-3-dc group of 2x3x1 disks: it needs at least 3 realms");
  EXPECT_EQ(shape_error(Species::kMirror3dc, 3, 2, 1),
            "a mirror-3-dc group of 3x2x1 disks: it needs at least 3 fail domains in each realm");
  EXPECT_EQ(shape_error(Species::kBlock42, 1, 8, 0),
            "a block-4-2 group of 1x8x0 disks: no count may be 0");
  EXPECT_EQ(shape_error(Species::kBlock42, 1, 33, 1),
            "a block-4-2 group of 1x33x1 disks: more than 32 disks");
  EXPECT_EQ(shape_error(Species::kBlock42, 1, 1u << 31, 1u << 31),
            "a block-4-2 group of 1x2147483648x2147483648 disks: more than 32 disks");
}

TEST(Geometry, OrderEnumeratesRealmThenDomainThenVdisk) {
  for (const Geometry& geometry : shapes()) {
    std::uint32_t expected = 0;
    for (std::uint32_t realm = 0; realm < geometry.realms(); ++realm) {
      for (std::uint32_t domain = 0; domain < geometry.domains(); ++domain) {
        for (std::uint32_t vdisk = 0; vdisk < geometry.vdisks(); ++vdisk) {
          const Coordinates at{static_cast<std::uint8_t>(realm), static_cast<std::uint8_t>(domain),
                               static_cast<std::uint8_t>(vdisk)};
          EXPECT_EQ(geometry.order(at), expected);
          EXPECT_EQ(geometry.coordinates(expected), at);
          ++expected;
        }
      }
    }
    EXPECT_EQ(geometry.disks(), expected);
  }
}

TEST(Subgroup, OfBlock42IsTheRingOfTheVectors) {
  const Geometry geometry = Geometry::standard(Species::kBlock42);
  using Domains = std::vector<int>;
  EXPECT_EQ(domains_of(geometry, "[12345:1:1:0:0:1000:0]"), (Domains{1, 2, 3, 4, 5, 6, 7, 0}));
  EXPECT_EQ(domains_of(geometry, "[1:2:3:4:6:5:0]"), (Domains{2, 3, 4, 5, 6, 7, 0, 1}));
  EXPECT_EQ(domains_of(geometry, "[72075186224037888:10:300:0:1:128:0]"),
            (Domains{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(domains_of(geometry, "[72075186224037888:10:301:0:1:128:0]"),
            (Domains{7, 0, 1, 2, 3, 4, 5, 6}));
}

TEST(Subgroup, OfMirror3dcHasRealmsAsColumnsAndDomainsAsRows) {
  const Geometry geometry = Geometry::standard(Species::kMirror3dc);
  const auto group = geometry.subgroup(BlobId::parse("[12345:1:1:0:0:1000:0]").value());
  const std::vector<std::pair<int, int>> expected{{1, 2}, {2, 2}, {0, 2}, {1, 0}, {2, 0},
                                                  {0, 0}, {1, 1}, {2, 1}, {0, 1}};
  ASSERT_EQ(group.size, expected.size());
  for (std::size_t slot = 0; slot < expected.size(); ++slot) {
    const Coordinates at = geometry.coordinates(group.order[slot]);
    EXPECT_EQ(std::pair(int{at.realm}, int{at.domain}), expected[slot]) << "slot " << slot;
  }
}

TEST(Subgroup, FollowsTheRuleOnEveryShape) {
  SeededRandom random(3);
  for (const Geometry& geometry : shapes()) {
    for (int round = 0; round < 300; ++round) {
      const BlobId id = random_id(random);
      const auto group = geometry.subgroup(id);
      const std::uint32_t hash = id.hash();
      ASSERT_EQ(group.size, geometry.slots());
      for (std::uint32_t slot = 0; slot < group.size; ++slot) {
        const Coordinates at = geometry.coordinates(group.order[slot]);
        if (geometry.species() == Species::kMirror3dc) {
          const std::uint32_t rest = hash / geometry.realms();
          ASSERT_EQ(at.realm, (hash % geometry.realms() + slot % 3) % geometry.realms());
          ASSERT_EQ(at.domain, (rest % geometry.domains() + slot / 3) % geometry.domains());
          ASSERT_EQ(at.vdisk, rest / geometry.domains() % geometry.vdisks());
        } else {
          ASSERT_EQ(at.realm, 0);
          ASSERT_EQ(at.domain, (std::uint64_t{hash} + slot) % geometry.domains());
        }
      }
    }
  }
}

TEST(Subgroup, HasEveryFailDomainOnceAndFindsItsSlots) {
  SeededRandom random(4);
  for (const Geometry& geometry : shapes()) {
    for (int round = 0; round < 300; ++round) {
      const auto group = geometry.subgroup(random_id(random));
      std::set<std::pair<int, int>> domains;
      DiskSet disks = 0;
      for (int slot = 0; slot < group.size; ++slot) {
        const Coordinates at = geometry.coordinates(group.order[slot]);
        domains.emplace(at.realm, at.domain);
        disks |= disk_bit(group.order[slot]);
        ASSERT_EQ(group.slot_of(group.order[slot]), slot);
      }
      ASSERT_EQ(domains.size(), group.size);
      for (std::uint32_t disk = 0; disk < geometry.disks(); ++disk) {
        if (!contains(disks, disk)) ASSERT_EQ(group.slot_of(disk), -1);
      }
    }
  }
}

TEST(Subgroup, IgnoresSizeAndPart) {
  SeededRandom random(5);
  for (const Geometry& geometry : shapes()) {
    const BlobId id = random_id(random);
    auto raw = id.raw();
    raw[2] ^= 0xffffff;
    raw[3] ^= 0xff;
    EXPECT_EQ(geometry.subgroup(id).order, geometry.subgroup(BlobId::from_raw(raw)).order);
  }
}

// Consecutive steps of one tablet, the usual load: each disk is each slot equally often.
TEST(Subgroup, SpreadsBlobsEvenlyOverAllDisks) {
  constexpr int kBlobs = 20000;
  for (const Geometry& geometry : shapes()) {
    std::vector<int> mains(geometry.disks());
    std::vector<int> lasts(geometry.disks());
    for (int step = 0; step < kBlobs; ++step) {
      const BlobId id(TabletId{72075186224037888}, 1, static_cast<Step>(step), 0, 100, 0);
      const auto group = geometry.subgroup(id);
      ++mains[group.order[0]];
      ++lasts[group.order[group.size - 1]];
    }
    const int mean = kBlobs / static_cast<int>(geometry.disks());
    const int slack = mean / 4;
    for (std::uint32_t disk = 0; disk < geometry.disks(); ++disk) {
      EXPECT_NEAR(mains[disk], mean, slack) << geometry.disks();
      EXPECT_NEAR(lasts[disk], mean, slack) << geometry.disks();
    }
  }
}

// Data on disks depends on the placement: these orders must never change.
TEST(Subgroup, DrawsOfVdisksAreFixed) {
  const BlobId id = BlobId::parse("[12345:1:1:0:0:1000:0]").value();
  const auto ring = Geometry::make(Species::kBlock42, 1, 8, 4)->subgroup(id);
  const auto mirror = Geometry::make(Species::kMirror3dc, 3, 3, 3)->subgroup(id);
  const std::array<std::uint8_t, kSlotsMax> ring_expected{5, 9, 12, 18, 23, 26, 29, 3};
  const std::array<std::uint8_t, kSlotsMax> mirror_expected{17, 26, 8, 11, 20, 2, 14, 23, 5};
  EXPECT_EQ(ring.order, ring_expected);
  EXPECT_EQ(mirror.order, mirror_expected);
}

TEST(Allowed, MainsHoldTheirOwnPartAndHandoffsWhatTheSpeciesSays) {
  const Geometry none = Geometry::standard(Species::kNone);
  const Geometry block = Geometry::standard(Species::kBlock42);
  const Geometry mirror = Geometry::standard(Species::kMirror3dc);
  for (std::uint32_t slot = 0; slot < 12; ++slot) {
    for (std::uint32_t part = 0; part < 16; ++part) {
      EXPECT_EQ(none.allowed(slot, part), slot == 0 && part == 1);
      const bool is_part = part >= 1 && part <= 6;
      EXPECT_EQ(block.allowed(slot, part), is_part && (slot < 6 ? part == slot + 1 : slot < 8));
      EXPECT_EQ(mirror.allowed(slot, part), slot < 9 && part == slot % 3 + 1);
    }
  }
}

}  // namespace
}  // namespace moraine::blob
