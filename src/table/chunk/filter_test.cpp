#include "table/chunk/filter.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::table {
namespace {

std::vector<std::uint64_t> hashes(std::uint64_t seed, std::size_t count) {
  SeededRandom random(seed);
  std::vector<std::uint64_t> result(count);
  for (std::uint64_t& hash : result) hash = random.next();
  return result;
}

TEST(KeyFilter, HasEveryHashThatItWasMadeFrom) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 10u, 100u, 1'000u, 50'000u}) {
    const auto members = hashes(count, count);
    const auto filter = KeyFilter::open(Slice::copy_of(build_filter(members)));
    ASSERT_TRUE(filter);
    for (const std::uint64_t hash : members) ASSERT_TRUE(filter->may_have(hash)) << count;
  }
}

TEST(KeyFilter, HashesThatComeTwiceAreOne) {
  auto members = hashes(5, 100);
  const std::string once = build_filter(members);
  members.insert(members.end(), members.begin(), members.end());
  EXPECT_EQ(build_filter(members), once);
}

TEST(KeyFilter, HasFewOthersInFewBits) {
  constexpr std::size_t kCount = 100'000;
  const std::string bytes = build_filter(hashes(1, kCount));
  EXPECT_LT(bytes.size(), kCount * 125 / 100);
  const auto filter = KeyFilter::open(Slice::copy_of(bytes));
  ASSERT_TRUE(filter);
  std::size_t wrong = 0;
  for (const std::uint64_t hash : hashes(2, kCount)) wrong += filter->may_have(hash) ? 1 : 0;
  EXPECT_LT(wrong, kCount / 200);
}

TEST(KeyFilter, NoBytesRefuseNothingAndWrongSizesAreCorrupt) {
  EXPECT_TRUE(KeyFilter::open({})->may_have(7));
  const std::string bytes = build_filter(hashes(1, 100));
  EXPECT_FALSE(KeyFilter::open(Slice::copy_of(bytes.substr(0, bytes.size() - 1))));
  EXPECT_FALSE(KeyFilter::open(Slice::copy_of(bytes + "x")));
  EXPECT_FALSE(KeyFilter::open(Slice::copy_of("x")));
}

}  // namespace
}  // namespace moraine::table
