#include "blob/group/erasure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "blob/blob_id.h"
#include "io/random.h"

namespace moraine::blob {
namespace {

constexpr Species kBlock = Species::kBlock42;

Slice random_blob(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  Buffer buffer(size);
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(buffer.data() + at, &word, std::min<std::size_t>(8, size - at));
  }
  return std::move(buffer).freeze();
}

Slice counting_blob(std::uint8_t first, std::size_t size) {
  Buffer buffer(size);
  for (std::size_t i = 0; i < size; ++i) buffer.data()[i] = static_cast<std::byte>(first + i);
  return std::move(buffer).freeze();
}

std::string hex(const Slice& bytes) {
  std::string text;
  for (const std::byte b : bytes.span()) text += fmt::format("{:02x}", static_cast<int>(b));
  return text;
}

// The parts of a blob without those in `lost` (bit part-1).
PartSet parts_without(const std::vector<Slice>& parts, std::uint32_t lost) {
  PartSet set;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    if ((lost >> i & 1) == 0) set[i] = parts[i];
  }
  return set;
}

// Every set of at most two of six parts.
std::vector<std::uint32_t> losses() {
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 0; set < 64; ++set) {
    if (std::popcount(set) <= 2) sets.push_back(set);
  }
  return sets;
}

std::vector<std::uint32_t> sizes_up_to_1025_and_larger() {
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = 1; size <= 1025; ++size) sizes.push_back(size);
  SeededRandom random(7);
  for (int i = 0; i < 20; ++i) {
    sizes.push_back(static_cast<std::uint32_t>(1026 + random.below(200000)));
  }
  for (const std::uint32_t size : {65536u, 65537u, 131072u, 131071u}) {
    sizes.push_back(size);
  }
  return sizes;
}

// Multiplication in GF(2^8), written out.
std::uint8_t times(std::uint8_t a, std::uint8_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0; bit < 8; ++bit) {
    if ((b >> bit & 1) != 0) product ^= static_cast<std::uint32_t>(a) << bit;
  }
  for (std::uint32_t bit = 15; bit >= 8; --bit) {
    if ((product >> bit & 1) != 0) product ^= 0x11du << (bit - 8);
  }
  return static_cast<std::uint8_t>(product);
}

TEST(DataSlice, HasTheDocumentedLengths) {
  using Lengths = std::array<std::uint32_t, 4>;
  const auto lengths = [](std::uint32_t size) {
    Lengths found{};
    for (std::uint32_t part = 1; part <= 4; ++part) found[part - 1] = data_slice(size, part).size;
    return found;
  };
  EXPECT_EQ(lengths(1), (Lengths{0, 0, 0, 1}));
  EXPECT_EQ(lengths(31), (Lengths{0, 0, 0, 31}));
  EXPECT_EQ(lengths(32), (Lengths{32, 0, 0, 0}));
  EXPECT_EQ(lengths(33), (Lengths{32, 0, 0, 1}));
  EXPECT_EQ(lengths(64), (Lengths{32, 32, 0, 0}));
  EXPECT_EQ(lengths(100), (Lengths{32, 32, 32, 4}));
  EXPECT_EQ(lengths(127), (Lengths{32, 32, 32, 31}));
  EXPECT_EQ(lengths(128), (Lengths{32, 32, 32, 32}));
  EXPECT_EQ(lengths(129), (Lengths{32, 32, 32, 33}));
  EXPECT_EQ(lengths(160), (Lengths{64, 32, 32, 32}));
  EXPECT_EQ(lengths(168), (Lengths{64, 32, 32, 40}));
  EXPECT_EQ(lengths(1000), (Lengths{256, 256, 256, 232}));
}

TEST(DataSlice, TilesTheBlobWithinThePartSize) {
  for (const std::uint32_t size : sizes_up_to_1025_and_larger()) {
    std::uint32_t end = 0;
    for (std::uint32_t part = 1; part <= 4; ++part) {
      const PartRange range = data_slice(size, part);
      ASSERT_EQ(range.offset, end);
      ASSERT_LE(range.size, stored_part_size(kBlock, size));
      end += range.size;
    }
    ASSERT_EQ(end, size);
  }
}

TEST(StoredPartSize, IsTheBlobOrAQuarterRoundedUp) {
  EXPECT_EQ(stored_part_size(Species::kNone, 1000), 1000u);
  EXPECT_EQ(stored_part_size(Species::kMirror3dc, 1000), 1000u);
  EXPECT_EQ(stored_part_size(kBlock, 1), 32u);
  EXPECT_EQ(stored_part_size(kBlock, 128), 32u);
  EXPECT_EQ(stored_part_size(kBlock, 129), 64u);
  EXPECT_EQ(stored_part_size(kBlock, 1000), 256u);
  EXPECT_EQ(stored_part_size(kBlock, kBlobSizeMax), kBlobSizeMax / 4);
  EXPECT_EQ(stored_part_size(kBlock, kBlobSizeFieldMax), 1u << 26);
}

TEST(Split, OfMirrorsSharesTheBlob) {
  const Slice blob = random_blob(777, 1);
  for (const auto& [species, count] : {std::pair{Species::kNone, 1u}, {Species::kMirror3dc, 3u}}) {
    const auto parts = split(species, blob);
    ASSERT_EQ(parts.size(), count);
    for (const Slice& part : parts) {
      EXPECT_EQ(part.data(), blob.data());
      EXPECT_EQ(part.size(), blob.size());
    }
  }
}

// Stored on disks: these bytes must never change.
TEST(Split, GivesTheFixedVectors) {
  const auto rows = split(kBlock, counting_blob(0, 128));
  EXPECT_EQ(hex(rows[4]), std::string(64, '0'));
  EXPECT_EQ(hex(rows[5]), "7a75646b46495857020d1c133e31202f8a85949bb6b9a8a7f2fdece3cec1d0df");

  const auto one_byte = split(kBlock, counting_blob('A', 1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(hex(one_byte[i]), std::string(64, '0'));
  EXPECT_EQ(hex(one_byte[3]), "41" + std::string(62, '0'));
  EXPECT_EQ(hex(one_byte[4]), "41" + std::string(62, '0'));
  EXPECT_EQ(hex(one_byte[5]), "32" + std::string(62, '0'));

  const auto odd = split(kBlock, counting_blob(1, 100));
  EXPECT_EQ(hex(odd[3]), "61626364" + std::string(56, '0'));
  EXPECT_EQ(hex(odd[4]), "0000000065666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f00");
  EXPECT_EQ(hex(odd[5]), "75646b46464f4865626b6c797e77702d2a232431363f3815121b1c090e07003d");
}

TEST(Split, PadsDataPartsAndComputesParityOfEverySize) {
  for (const std::uint32_t size : sizes_up_to_1025_and_larger()) {
    const Slice blob = random_blob(size, size);
    const auto parts = split(kBlock, blob);
    const std::uint32_t part_size = stored_part_size(kBlock, size);
    ASSERT_EQ(parts.size(), 6u);
    for (const Slice& part : parts) ASSERT_EQ(part.size(), part_size);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const PartRange range = data_slice(size, i + 1);
      ASSERT_TRUE(equal(parts[i].sub(0, range.size), blob.sub(range.offset, range.size)));
      for (std::uint32_t at = range.size; at < part_size; ++at) {
        ASSERT_EQ(parts[i].data()[at], std::byte{0});
      }
    }
    for (std::uint32_t at = 0; at < part_size; ++at) {
      std::uint8_t sum = 0;
      std::uint8_t weighted = 0;
      for (std::uint32_t i = 0; i < 4; ++i) {
        const auto byte = static_cast<std::uint8_t>(parts[i].data()[at]);
        sum ^= byte;
        weighted ^= times(byte, static_cast<std::uint8_t>(1 << i));
      }
      ASSERT_EQ(static_cast<std::uint8_t>(parts[4].data()[at]), sum);
      ASSERT_EQ(static_cast<std::uint8_t>(parts[5].data()[at]), weighted);
    }
  }
}

TEST(Split, SharesTheBytesOfWholeSlices) {
  for (const std::uint32_t size : {128u, 129u, 160u, 192u, 65536u, 65568u, 65535u}) {
    const Slice blob = random_blob(size, size);
    const auto parts = split(kBlock, blob);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const PartRange range = data_slice(size, i + 1);
      const bool whole = range.size == parts[i].size();
      EXPECT_EQ(parts[i].data() == blob.data() + range.offset, whole) << size << " part " << i + 1;
    }
  }
}

TEST(Split, AlignsLargeFreshPartsForTheDisk) {
  const auto parts = split(kBlock, random_blob(65537, 1));
  for (const Slice& part : parts) EXPECT_TRUE(part.aligned());
}

TEST(Split, ParityIsLinear) {
  for (const std::size_t size : {1u, 100u, 1000u, 4096u}) {
    const Slice a = random_blob(size, 1);
    const Slice b = random_blob(size, 2);
    Buffer mixed(size);
    for (std::size_t i = 0; i < size; ++i) mixed.data()[i] = a.data()[i] ^ b.data()[i];
    const auto parts_a = split(kBlock, a);
    const auto parts_b = split(kBlock, b);
    const auto parts_mixed = split(kBlock, std::move(mixed).freeze());
    for (std::size_t part = 0; part < 6; ++part) {
      for (std::size_t i = 0; i < parts_a[part].size(); ++i) {
        ASSERT_EQ(parts_a[part].data()[i] ^ parts_b[part].data()[i], parts_mixed[part].data()[i]);
      }
    }
  }
}

TEST(Join, GivesEverySizeBackAfterEveryLossOfTwo) {
  for (const std::uint32_t size : sizes_up_to_1025_and_larger()) {
    const Slice blob = random_blob(size, size);
    const auto parts = split(kBlock, blob);
    for (const std::uint32_t lost : losses()) {
      const auto joined = join(kBlock, size, parts_without(parts, lost));
      ASSERT_TRUE(joined) << joined.error().message();
      ASSERT_TRUE(equal(*joined, blob)) << size << " bytes without " << lost;
    }
  }
}

// A confirmed blob, two lost disks of eight, every rotation of the ring.
TEST(Join, GivesTheBlobBackAfterTheLossOfAnyTwoDisksOnEveryRotation) {
  const Geometry geometry = Geometry::standard(kBlock);
  std::uint32_t rotations = 0;
  for (Step step = 0; rotations != 0xff; ++step) {
    const BlobId id(TabletId{9}, 1, step, 0, 1000, 0);
    const auto group = geometry.subgroup(id);
    if ((rotations >> group.order[0] & 1) != 0) continue;
    rotations |= 1u << group.order[0];
    const Slice blob = random_blob(id.size(), step);
    const auto parts = split(kBlock, blob);
    for (std::uint32_t first = 0; first < 8; ++first) {
      for (std::uint32_t second = 0; second < first; ++second) {
        PartSet left;
        for (std::uint32_t slot = 0; slot < 6; ++slot) {
          const std::uint32_t disk = group.order[slot];
          if (disk != first && disk != second) left[slot] = parts[slot];
        }
        ASSERT_TRUE(equal(join(kBlock, id.size(), left).value(), blob));
      }
    }
  }
}

TEST(Join, GivesTheLargestBlobBack) {
  const Slice blob = random_blob(kBlobSizeMax, 3);
  for (const std::uint32_t size : {kBlobSizeMax, kBlobSizeMax - 1}) {
    const Slice shorter = blob.sub(0, size);
    const auto parts = split(kBlock, shorter);
    for (const std::uint32_t lost : {0b000011u, 0b001001u, 0b100001u, 0b010100u}) {
      ASSERT_TRUE(equal(join(kBlock, size, parts_without(parts, lost)).value(), shorter));
    }
  }
}

TEST(Join, OfMirrorsIsAnyReplicaWithoutACopy) {
  const Slice blob = random_blob(500, 4);
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    PartSet parts;
    parts[replica] = blob;
    EXPECT_EQ(join(Species::kMirror3dc, 500, parts)->data(), blob.data());
    EXPECT_EQ(join(Species::kNone, 500, parts).has_value(), replica == 0);
  }
  EXPECT_EQ(join(Species::kMirror3dc, 500, {}).error().code, Errc::kNotFound);
}

TEST(Join, ReportsTooFewPartsAndWrongSizes) {
  const auto parts = split(kBlock, random_blob(1000, 5));
  for (std::uint32_t lost = 0; lost < 64; ++lost) {
    if (std::popcount(lost) <= 2) continue;
    const auto joined = join(kBlock, 1000, parts_without(parts, lost));
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error().code, Errc::kNotFound);
  }
  EXPECT_EQ(join(kBlock, 1000, parts_without(parts, 7)).error().context,
            "3 parts available, 4 are needed to restore the blob");
  PartSet short_part = parts_without(parts, 0);
  short_part[2] = short_part[2].sub(0, 255);
  EXPECT_EQ(join(kBlock, 1000, short_part).error().message(),
            "corrupt: part 3 of a blob of 1000 bytes has 255 bytes, expected 256");
  EXPECT_EQ(restore_parts(kBlock, 1000, short_part, 1).error().code, Errc::kCorrupt);
  EXPECT_EQ(join(kBlock, 0, {}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(join(kBlock, ~0u, {}).error().code, Errc::kInvalidArgument);
}

TEST(RestoreParts, RecomputesEveryLossOfTwo) {
  for (const std::uint32_t size : {1u, 33u, 128u, 129u, 1000u, 65537u}) {
    const auto parts = split(kBlock, random_blob(size, size));
    for (const std::uint32_t lost : losses()) {
      for (const std::uint32_t wanted : losses()) {
        PartSet set = parts_without(parts, lost);
        ASSERT_TRUE(restore_parts(kBlock, size, set, wanted));
        for (std::uint32_t i = 0; i < 6; ++i) {
          const bool expected = (lost >> i & 1) == 0 || (wanted >> i & 1) != 0;
          ASSERT_EQ(!set[i].empty(), expected);
          if (expected) ASSERT_TRUE(equal(set[i], parts[i]));
        }
      }
    }
  }
}

TEST(RestoreParts, LeavesThePartsAloneWhenTheyDoNotSuffice) {
  const auto parts = split(kBlock, random_blob(1000, 6));
  PartSet three = parts_without(parts, 0b000111);
  EXPECT_EQ(restore_parts(kBlock, 1000, three, 0b000001).error().code, Errc::kNotFound);
  EXPECT_TRUE(three[0].empty());
  EXPECT_TRUE(restore_parts(kBlock, 1000, three, 0b001000));  // Available: nothing to do.

  PartSet replicas;
  EXPECT_EQ(restore_parts(Species::kMirror3dc, 10, replicas, 0b001).error().code, Errc::kNotFound);
  replicas[1] = random_blob(10, 1);
  ASSERT_TRUE(restore_parts(Species::kMirror3dc, 10, replicas, 0b001));
  EXPECT_EQ(replicas[0].data(), replicas[1].data());
  EXPECT_TRUE(replicas[2].empty());
}

TEST(RestoreColumn, GivesAnyRangeOfAnyPartFromAnyFourOthers) {
  const std::uint32_t size = 1000;
  const auto parts = split(kBlock, random_blob(size, 8));
  const std::uint32_t part_size = stored_part_size(kBlock, size);
  for (const std::uint32_t lost : losses()) {
    for (std::uint32_t offset = 0; offset < part_size; offset += kColumnUnit) {
      for (std::uint32_t length = kColumnUnit; offset + length <= part_size;
           length += kColumnUnit) {
        PartSet columns;
        for (std::uint32_t i = 0; i < 6; ++i) {
          if ((lost >> i & 1) == 0) columns[i] = parts[i].sub(offset, length);
        }
        for (std::uint32_t part = 1; part <= 6; ++part) {
          const auto column = restore_column(part, columns);
          ASSERT_TRUE(column);
          ASSERT_TRUE(equal(*column, parts[part - 1].sub(offset, length)));
        }
      }
    }
  }
}

TEST(RestoreColumn, ReportsTooFewColumnsAndUnequalOnes) {
  const auto parts = split(kBlock, random_blob(1000, 9));
  EXPECT_EQ(restore_column(1, parts_without(parts, 0b000111)).error().code, Errc::kNotFound);
  EXPECT_EQ(restore_column(1, {}).error().code, Errc::kNotFound);
  PartSet unequal = parts_without(parts, 1);
  unequal[5] = unequal[5].sub(0, 32);
  EXPECT_EQ(restore_column(1, unequal).error().message(), "corrupt: columns of 256 and 32 bytes");
}

}  // namespace
}  // namespace moraine::blob
