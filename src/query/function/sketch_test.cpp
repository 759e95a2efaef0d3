#include "query/function/sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace moraine::query {
namespace {

std::uint64_t hash_of(std::uint64_t number) {
  const Value value(number);
  return sketch_hash({&value, 1});
}
Sketch sketch_of(std::uint8_t precision, std::uint64_t first, std::uint64_t count) {
  Sketch sketch(precision);
  for (std::uint64_t i = 0; i < count; ++i) sketch.add(hash_of(first + i));
  return sketch;
}

TEST(Sketch, FewValuesAreCountedExactly) {
  for (std::uint8_t precision = kPrecisionMin; precision <= kPrecisionMax; ++precision) {
    const std::uint64_t exact = std::uint64_t{1} << (precision - 3);
    EXPECT_EQ(sketch_of(precision, 0, 0).count(), 0U);
    EXPECT_EQ(sketch_of(precision, 5, exact).count(), exact);
  }
  EXPECT_EQ(sketch_of(kUniq, 5, kUniqHashesMax).count(), kUniqHashesMax);
}

TEST(Sketch, ManyValuesAreEstimated) {
  for (std::uint8_t precision = kPrecisionMin; precision <= kPrecisionMax; ++precision) {
    const double error = 1.04 / std::sqrt(std::pow(2, precision));
    for (const std::uint64_t count : {3'000U, 50'000U, 400'000U}) {
      const auto found = static_cast<double>(sketch_of(precision, 7, count).count());
      EXPECT_NEAR(found / static_cast<double>(count), 1, 4 * error) << int{precision};
    }
  }
  const auto uniq = static_cast<double>(sketch_of(kUniq, 7, 1'000'000).count());
  EXPECT_NEAR(uniq / 1e6, 1, 0.016);
}

TEST(Sketch, DependsOnTheSetOfValuesOnly) {
  for (const std::uint8_t precision : {kUniq, kPrecisionMin, kPrecisionMax}) {
    for (const std::uint64_t count : {10U, 1'000U, 200'000U}) {
      const std::string whole = sketch_of(precision, 0, count).state();
      Sketch backwards(precision);
      for (std::uint64_t i = count; i > 0; --i) backwards.add(hash_of(i - 1));
      EXPECT_EQ(backwards.state(), whole);
      // Overlapping parts, some of them as states.
      Sketch merged(precision);
      const std::uint64_t part = count / 3 + 1;
      for (std::uint64_t first = 0; first < count; first += part / 2 + 1) {
        const Sketch one = sketch_of(precision, first, std::min(part, count - first));
        if (first % 2 == 0) {
          merged.merge(one);
        } else {
          ASSERT_TRUE(merged.merge_state(one.state()));
        }
      }
      EXPECT_EQ(merged.state(), whole) << int{precision} << " " << count;
    }
  }
}

TEST(Sketch, ZerosAreOneValue) {
  const Value zeros[] = {Value(0.0), Value(-0.0)};
  EXPECT_EQ(sketch_hash({&zeros[0], 1}), sketch_hash({&zeros[1], 1}));
}

TEST(Sketch, StatesOfOtherKindsAreRefused) {
  Sketch sketch(10);
  EXPECT_FALSE(sketch.merge_state(""));
  EXPECT_FALSE(sketch.merge_state("tea"));
  EXPECT_FALSE(sketch.merge_state(sketch_of(11, 0, 5).state()));
  EXPECT_FALSE(sketch.merge_state(sketch_of(kUniq, 0, 5).state()));
  std::string state = sketch_of(10, 0, 50'000).state();
  EXPECT_TRUE(sketch.merge_state(state));
  state.pop_back();
  EXPECT_FALSE(sketch.merge_state(state));
  state.push_back('\x70');  // No rank is so high.
  EXPECT_FALSE(sketch.merge_state(state));
  std::string twice = sketch_of(10, 0, 1).state();
  twice += twice.substr(3);
  EXPECT_FALSE(sketch.merge_state(twice));
}

}  // namespace
}  // namespace moraine::query
