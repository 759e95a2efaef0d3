#include "table/model/value_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "io/random.h"
#include "table/model/column_batch.h"

namespace moraine::table {
namespace {

using Op = Filter::Op;

// Null, and values of all types with their extremes.
std::vector<Value> domain() {
  return {Value(),
          Value(INT64_MIN),
          Value(std::int64_t{-1}),
          Value(std::int64_t{0}),
          Value(INT64_MAX),
          Value(UINT64_MAX),
          Value(-0.0),
          Value(1.5),
          Value(std::nan("")),
          Value(false),
          Value(true),
          Value(""),
          Value("a"),
          Value("ab"),
          Value("b"),
          Value::any("x")};
}

TEST(ValueSetTest, ContainsWhatAFilterAccepts) {
  const std::vector<Value> values = domain();
  for (const Op op : {Op::kEqual, Op::kNotEqual, Op::kLess, Op::kLessOrEqual, Op::kGreater,
                      Op::kGreaterOrEqual, Op::kIsNull, Op::kIsNotNull}) {
    for (const Value& wanted : values) {
      const ValueSet set = ValueSet::matching(op, wanted);
      for (const Value& value : values) {
        EXPECT_EQ(set.contains(value), fits({.column = 0, .op = op, .value = wanted}, value))
            << static_cast<int>(op);
      }
    }
  }
}

TEST(ValueSetTest, AListContainsItsValuesOnceEach) {
  const ValueSet set =
      ValueSet::of(std::vector<Value>{Value("b"), Value(), Value("a"), Value("b")});
  ASSERT_EQ(set.intervals().size(), 3u);
  for (const ValueInterval& interval : set.intervals()) EXPECT_TRUE(interval.is_point());
  EXPECT_TRUE(set.contains(Value()));
  EXPECT_TRUE(set.contains(Value("a")));
  EXPECT_FALSE(set.contains(Value("ab")));
  EXPECT_TRUE(ValueSet::of(std::vector<Value>{}).empty());
}

TEST(ValueSetTest, TouchingIntervalsAreJoined) {
  const ValueSet set = unite(ValueSet::matching(Op::kLess, Value(std::int64_t{5})),
                             unite(ValueSet::matching(Op::kEqual, Value(std::int64_t{5})),
                                   ValueSet::matching(Op::kGreater, Value(std::int64_t{5}))));
  EXPECT_EQ(set.intervals().size(), 1u);
  EXPECT_TRUE(complement(ValueSet::all()).empty());
  EXPECT_EQ(complement(ValueSet()).intervals().size(), 1u);
}

ValueSet random_set(const std::vector<Value>& values, Random& random) {
  std::vector<ValueInterval> intervals;
  for (std::uint64_t count = random.below(5); count > 0; --count) {
    const auto cut = [&]() -> ValueCut {
      if (random.one_in(8)) return ValueCut::at_end();
      return {.value = values[random.below(values.size())], .after = random.one_in(2)};
    };
    intervals.push_back({cut(), cut()});
  }
  return ValueSet::of(std::move(intervals));
}

TEST(ValueSetTest, CombinationsContainWhatTheirPartsSay) {
  const std::vector<Value> values = domain();
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SeededRandom random(seed);
    const ValueSet a = random_set(values, random);
    const ValueSet b = random_set(values, random);
    const ValueSet either = unite(a, b);
    const ValueSet both = intersect(a, b);
    const ValueSet other = complement(a);
    for (const Value& value : values) {
      ASSERT_EQ(either.contains(value), a.contains(value) || b.contains(value)) << seed;
      ASSERT_EQ(both.contains(value), a.contains(value) && b.contains(value)) << seed;
      ASSERT_EQ(other.contains(value), !a.contains(value)) << seed;
    }
    for (const ValueSet& set : {a, either, both, other}) {
      for (std::size_t i = 1; i < set.intervals().size(); ++i) {
        ASSERT_TRUE(compare(set.intervals()[i - 1].to, set.intervals()[i].from) < 0) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace moraine::table
