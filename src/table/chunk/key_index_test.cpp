#include "table/chunk/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/random.h"

namespace moraine::table {
namespace {

std::string random_bytes(Random& random, std::size_t size_max, std::uint64_t letters) {
  std::string text(random.below(size_max + 1), '\0');
  for (char& c : text) c = static_cast<char>(random.below(letters) * (255 / letters));
  return text;
}

TEST(KeyIndex, FindsWhatABinarySearchFinds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SeededRandom random(seed);
    const std::string prefix = random_bytes(random, 12, 3);
    const std::uint64_t letters = 1 + random.below(4);
    std::set<std::string> keys;
    const std::size_t count = random.below(random.one_in(3) ? 3'000 : 40);
    for (std::size_t i = 0; i < count; ++i) keys.insert(prefix + random_bytes(random, 14, letters));
    const std::vector<std::string> sorted(keys.begin(), keys.end());
    const KeyIndex index(sorted);
    for (int i = 0; i < 500; ++i) {
      std::string key = random.one_in(9) ? random_bytes(random, 20, 3)
                                         : prefix + random_bytes(random, 14, letters);
      if (!sorted.empty() && random.one_in(2)) key = sorted[random.below(sorted.size())];
      const auto expected = std::ranges::upper_bound(sorted, key) - sorted.begin();
      ASSERT_EQ(index.find(as_bytes(key)), static_cast<std::size_t>(expected)) << seed;
    }
  }
}

TEST(KeyIndex, AFullNodeHasAnEnd) {
  for (const std::size_t count : {15u, 16u, 17u, 255u, 256u, 257u}) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; ++i)
      keys.push_back(std::string(1, '\x01') + char('\0' + i / 256) + char(i % 256));
    std::ranges::sort(keys);
    const KeyIndex index(keys);
    EXPECT_EQ(index.find(as_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff")), count);
    EXPECT_EQ(index.find(as_bytes(std::string("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff"))), count);
  }
}

TEST(KeyIndex, ASeparatorIsShort) {
  EXPECT_EQ(separator("abcdef", "abdzzz"), "abd");
  EXPECT_EQ(separator("ab", "abcd"), "abc");
}

}  // namespace
}  // namespace moraine::table
