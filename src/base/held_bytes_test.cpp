#include "base/held_bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace moraine {
namespace {

constexpr std::size_t kBlock = 1 << 20;

Slice block_of(char fill) {
  return Slice::copy_of(std::string(kBlock, fill));
}

TEST(HeldBytes, ABlockCountsOnceForItsPartsSideBySide) {
  const Slice a = block_of('a');
  const Slice b = block_of('b');
  const std::vector<Slice> parts = {a.sub(10, 5), a.sub(15, 7), b.sub(0, 1)};
  EXPECT_EQ(HeldBytes(parts).total(),
            a.held_bytes() + b.held_bytes() + parts.size() * sizeof(Slice));
}

TEST(HeldBytes, ABlockCountsOnceWhenPartsOfAnotherAlternateWithItsOwn) {
  const Slice a = block_of('a');
  const Slice b = Slice::copy_of(std::string(kBlock / 2, 'b'));
  std::vector<Slice> parts;
  for (std::size_t i = 0; i < 1'000; ++i) {
    parts.push_back(a.sub(600 * i, 300));
    parts.push_back(b.sub(10 * i, 10));
  }
  EXPECT_EQ(HeldBytes(parts).total(),
            a.held_bytes() + b.held_bytes() + parts.size() * sizeof(Slice));
}

TEST(HeldBytes, SmallPartsGetMemoryOfTheirOwnAndLargeOnesStay) {
  const Slice a = block_of('a');
  const Slice b = block_of('b');
  std::vector<Slice> parts = {a.sub(10, 5'000), a.sub(5'010, 7'000), b.sub(0, kBlock - 9), Slice()};
  std::vector<Slice*> all;
  for (Slice& part : parts) all.push_back(&part);
  release_large_blocks(all);
  EXPECT_EQ(parts[0].text(), std::string(5'000, 'a'));
  EXPECT_EQ(parts[1].text(), std::string(7'000, 'a'));
  EXPECT_EQ(parts[0].data() + 5'000, parts[1].data()) << "they are still adjacent";
  EXPECT_EQ(parts[2].data(), b.data());
  EXPECT_LE(HeldBytes(parts).total(), 2 * (12'000 + kBlock));
  EXPECT_LE(parts[0].held_bytes(), 24'000u);
}

}  // namespace
}  // namespace moraine
