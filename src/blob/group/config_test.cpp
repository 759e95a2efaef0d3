#include "blob/group/config.h"

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine::blob {
namespace {

GroupConfig sample(Species species) {
  GroupConfig config;
  config.id = GroupId{0x82000000};
  config.generation = 7;
  config.geometry = Geometry::standard(species);
  for (std::uint32_t i = 0; i < config.geometry.disks(); ++i) {
    config.disks.push_back({NodeId{i + 1}, 100 + i, i % 3});
  }
  return config;
}

// The same bytes with a valid checksum.
Slice resealed(Slice bytes) {
  Encoder to;
  to.raw(bytes.span().first(bytes.size() - 4));
  to.u32(crc32c(to.span()));
  return to.slice();
}

Slice with_byte(const Slice& bytes, std::size_t at, std::uint8_t value) {
  Encoder to;
  to.raw(bytes);
  to.span()[at] = std::byte{value};
  return to.slice();
}

std::string why_not(ByteSpan bytes) {
  auto config = GroupConfig::decode(bytes);
  if (config) return "it decodes";
  EXPECT_EQ(config.error().code, Errc::kCorrupt);
  return config.error().context;
}

TEST(VDiskId, PrintsTheGroupInHexAndTheRestInDecimal) {
  const VDiskId id{GroupId{0x82000000}, 12, {1, 2, 30}};
  EXPECT_EQ(id.to_string(), "[82000000:12:1:2:30]");
  EXPECT_EQ((VDiskId{GroupId{10}, 1, {}}.to_string()), "[a:1:0:0:0]");
}

TEST(VDiskId, ParsesWhatItPrints) {
  for (const VDiskId& id : {VDiskId{}, VDiskId{GroupId{0x82000000}, 12, {1, 2, 30}},
                            VDiskId{GroupId{~0u}, ~0u, {255, 255, 255}}}) {
    EXPECT_EQ(VDiskId::parse(id.to_string()), id);
  }
}

TEST(VDiskId, RefusesEveryOtherSpelling) {
  for (const std::string_view text : {"",
                                      "[",
                                      "]",
                                      "[]",
                                      "1:1:0:0:0",
                                      "[1:1:0:0]",
                                      "[1:1:0:0:0:0]",
                                      "[1:1:0:0:0] ",
                                      "[ 1:1:0:0:0]",
                                      "[01:1:0:0:0]",
                                      "[g:1:0:0:0]",
                                      "[0x1:1:0:0:0]",
                                      "[1:-1:0:0:0]",
                                      "[1:+1:0:0:0]",
                                      "[1:a:0:0:0]",
                                      "[1::0:0:0]",
                                      "[1:1:256:0:0]",
                                      "[1:1:0:0:0:]",
                                      "[100000000:1:0:0:0]",
                                      "[1:4294967296:0:0:0]",
                                      "[1:1:0:0:]"}) {
    auto id = VDiskId::parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, Errc::kInvalidArgument) << text;
  }
}

TEST(VDiskId, SaysWhichFieldIsWrong) {
  EXPECT_EQ(VDiskId::parse("[1:1:0:300:0]").error().context,
            "vdisk id \"[1:1:0:300:0]\": domain \"300\" is too large");
}

TEST(GroupConfig, ComesBackFromItsBytes) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    const GroupConfig config = sample(species);
    const Slice bytes = config.encode();
    EXPECT_EQ(bytes.size(), 1 + 4 + 4 + 4 + 12 * config.disks.size() + 4);
    auto again = GroupConfig::decode(bytes);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, config);
  }
}

TEST(GroupConfig, NamesItsDisksByOrder) {
  const GroupConfig config = sample(Species::kMirror3dc);
  EXPECT_EQ(config.vdisk(0).to_string(), "[82000000:7:0:0:0]");
  EXPECT_EQ(config.vdisk(5).to_string(), "[82000000:7:1:2:0]");
}

TEST(GroupConfig, DiffersFromAnotherInEveryField) {
  const GroupConfig config = sample(Species::kBlock42);
  const auto changed = [&](auto change) {
    GroupConfig other = config;
    change(other);
    return other;
  };
  EXPECT_EQ(config, config);
  EXPECT_NE(config, changed([](GroupConfig& c) { c.id.value = 1; }));
  EXPECT_NE(config, changed([](GroupConfig& c) { c.generation = 8; }));
  EXPECT_NE(config, changed([](GroupConfig& c) { c.disks[3].slot = 9; }));
  EXPECT_NE(config, changed([](GroupConfig& c) {
              c.geometry = *Geometry::make(Species::kBlock42, 1, 8, 2);
            }));
}

TEST(GroupConfig, RefusesEveryTruncationAndEveryFlippedBit) {
  const Slice bytes = sample(Species::kBlock42).encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(why_not(bytes.sub(0, size)), "it decodes") << size;
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto old = static_cast<std::uint8_t>(bytes.data()[bit / 8]);
    const auto flipped = static_cast<std::uint8_t>(old ^ 1u << bit % 8);
    EXPECT_NE(why_not(with_byte(bytes, bit / 8, flipped)), "it decodes") << bit;
  }
}

TEST(GroupConfig, SaysWhatIsWrongWithBytesWhoseChecksumHolds) {
  const Slice bytes = sample(Species::kBlock42).encode();
  EXPECT_EQ(why_not(with_byte(bytes, 0, 2)), "group config: version 2 is unknown");
  EXPECT_EQ(why_not(with_byte(bytes, 20, 99)), "group config: the checksum does not match");
  EXPECT_EQ(why_not(resealed(with_byte(bytes, 9, 5))), "group config: species 5 is unknown");
  EXPECT_NE(why_not(resealed(with_byte(bytes, 10, 2))).find("one realm"), std::string::npos);
  EXPECT_NE(why_not(resealed(with_byte(bytes, 11, 255))).find("more than 32"), std::string::npos);
  EXPECT_EQ(why_not(resealed(with_byte(bytes, 11, 9))),
            "group config: 113 bytes do not fit 9 disks");
  EXPECT_EQ(why_not(resealed(bytes.sub(0, 12))), "group config: its header is truncated");

  GroupConfig twice = sample(Species::kBlock42);
  twice.disks[7] = twice.disks[2];
  EXPECT_EQ(why_not(twice.encode()),
            "group config: group 82000000: disks 2 and 7 are both at node 3 device 102 slot 2");
}

TEST(CheckOfAGroupConfig, AcceptsASoundOneAndNamesContradictions) {
  GroupConfig config = sample(Species::kMirror3dc);
  EXPECT_TRUE(check(config));
  config.disks.pop_back();
  EXPECT_EQ(check(config).error().context, "group 82000000: 8 disks, but its shape has 9");
  config = sample(Species::kNone);
  config.generation = 0;
  EXPECT_EQ(check(config).error().code, Errc::kInvalidArgument);
}

TEST(GroupConfigDigest, DiffersWhenAnyFieldDiffers) {
  GroupConfig config;
  config.id = GroupId{0x82000000};
  config.geometry = Geometry::standard(Species::kBlock42);
  for (std::uint32_t i = 0; i < config.geometry.disks(); ++i) {
    config.disks.push_back({NodeId{i + 1}, 1, 0});
  }
  EXPECT_EQ(config.digest(), GroupConfig(config).digest());
  EXPECT_FALSE(contradict(config, config));
  std::vector<GroupConfig> others(4, config);
  others[0].disks[3].node = NodeId{9};
  others[1].disks[3].device = 2;
  others[2].disks[3].slot = 1;
  std::swap(others[3].disks[0], others[3].disks[1]);
  for (const GroupConfig& other : others) {
    EXPECT_NE(other.digest(), config.digest());
    EXPECT_TRUE(contradict(config, other));
    GroupConfig next = other;
    ++next.generation;
    EXPECT_FALSE(contradict(config, next)) << "another generation may say other things";
  }
  const std::string said = contradiction(config, others[0]);
  EXPECT_TRUE(said.contains("82000000 has two configs of generation 1")) << said;
  EXPECT_TRUE(said.contains("disk 3 at node 4 device 1 slot 0 here and at node 9")) << said;
}

TEST(GroupConfigChange, MovesOneDiskWithEachGeneration) {
  GroupConfig known;
  known.id = GroupId{0x82000000};
  known.geometry = Geometry::standard(Species::kBlock42);
  for (std::uint32_t i = 0; i < known.geometry.disks(); ++i) {
    known.disks.push_back({NodeId{i + 1}, 1, 0});
  }
  GroupConfig next = known;
  next.generation = 2;
  EXPECT_TRUE(check_change(known, next)) << "nothing moves";
  next.disks[3].node = NodeId{9};
  EXPECT_TRUE(check_change(known, next));
  next.disks[4].node = NodeId{10};
  const auto refused = check_change(known, next);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_TRUE(
      refused.error().message().contains("2 disks at once (first disk 3 from node 4 device 1"))
      << refused.error().message();
  // After missed generations: as many as the group may lose.
  next.generation = 3;
  EXPECT_TRUE(check_change(known, next));
  next.disks[5].node = NodeId{11};
  next.generation = 4;
  EXPECT_FALSE(check_change(known, next));
  // A new order of the same disks moves them, too.
  GroupConfig reordered = known;
  reordered.generation = 2;
  std::swap(reordered.disks[0], reordered.disks[1]);
  EXPECT_FALSE(check_change(known, reordered));
}

TEST(GroupConfigChange, AGroupOfOneIsNotMoved) {
  GroupConfig known;
  known.id = GroupId{1};
  known.disks.push_back({NodeId{1}, 1, 0});
  GroupConfig newer = known;
  for (const std::uint32_t generation : {2u, 3u}) {
    newer.generation = generation;
    newer.disks[0].device = 1;
    EXPECT_TRUE(check_change(known, newer));
    newer.disks[0].device = 2;
    const auto refused = check_change(known, newer);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message().contains("no other copy")) << refused.error().message();
  }
}

}  // namespace
}  // namespace moraine::blob
