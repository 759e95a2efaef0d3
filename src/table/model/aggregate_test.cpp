#include "table/model/aggregate.h"

#include <gtest/gtest.h>

#include <limits>

#include "yson/yson.h"

namespace moraine::table {
namespace {

class AggregateFold : public testing::Test {
 protected:
  Value folded(Aggregate aggregate, const Value& older, const Value& newer) {
    return fold(aggregate, older, newer, memory_);
  }
  std::string dicts(std::string_view older, std::string_view newer) {
    const Value total = folded(Aggregate::kDictSum, Value::any(older), Value::any(newer));
    return write_yson(parse_yson(total.text()).value(), YsonFormat::kText);
  }
  TextMemory memory_;
};

TEST_F(AggregateFold, ANullDeltaChangesNothingAndADeltaToNullIsTheDelta) {
  for (const Aggregate aggregate : {Aggregate::kSum, Aggregate::kMin, Aggregate::kMax,
                                    Aggregate::kFirst, Aggregate::kXdelta, Aggregate::kDictSum}) {
    EXPECT_EQ(folded(aggregate, 5, Value()), Value(5));
    EXPECT_EQ(folded(aggregate, Value(), 5), Value(5));
    EXPECT_TRUE(folded(aggregate, Value(), Value()).is_null());
  }
}

TEST_F(AggregateFold, SumAddsAndIntegersWrap) {
  EXPECT_EQ(folded(Aggregate::kSum, 5, -7), Value(-2));
  EXPECT_EQ(folded(Aggregate::kSum, 1.5, 2.0), Value(3.5));
  EXPECT_EQ(folded(Aggregate::kSum, ~std::uint64_t{0}, std::uint64_t{2}), Value(std::uint64_t{1}));
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(folded(Aggregate::kSum, Limits::max(), 1), Value(Limits::min()));
}

TEST_F(AggregateFold, MinMaxAndFirstChooseOne) {
  EXPECT_EQ(folded(Aggregate::kMin, 5, 3), Value(3));
  EXPECT_EQ(folded(Aggregate::kMin, "a", "b"), Value("a"));
  EXPECT_EQ(folded(Aggregate::kMax, 5, 3), Value(5));
  EXPECT_EQ(folded(Aggregate::kMax, 1.0, 2.0), Value(2.0));
  EXPECT_EQ(folded(Aggregate::kFirst, "old", "new"), Value("old"));
}

TEST_F(AggregateFold, DictSumAddsNestedMapsAndDropsZeroLeaves) {
  EXPECT_EQ(dicts("{a=1;b={c=2}}", "{b={c=3;d=4u};e=1.5}"),
            R"({"a"=1;"b"={"c"=5;"d"=4u;};"e"=1.5;})");
  EXPECT_EQ(dicts("{a=1;b={c=2}}", "{a=-1;b={c=-2}}"), "{}");
  EXPECT_EQ(dicts("{a=1u}", "{a=1}"), R"({"a"=2;})");
  EXPECT_EQ(dicts("{a=1}", "{a=0.5}"), R"({"a"=1.5;})");
}

TEST_F(AggregateFold, DictSumIsAssociative) {
  const std::string_view parts[] = {"{a=1;b={c=2};z=3}", "{a=2;b={c=-2;d=1}}", "{b={d=5};z=-3}"};
  const auto add = [&](std::string_view a, std::string_view b) {
    return folded(Aggregate::kDictSum, Value::any(a), Value::any(b)).text();
  };
  const auto left = parse_yson(add(add(parts[0], parts[1]), parts[2])).value();
  const auto right = parse_yson(add(parts[0], add(parts[1], parts[2]))).value();
  for (const YsonNode& node : {left, right}) {
    const auto& map = *node.as<YsonMap>();
    EXPECT_EQ(map.size(), 2U);
    EXPECT_EQ(*map.find("a")->as<std::int64_t>(), 3);
    EXPECT_EQ(*map.find("b")->find("d")->as<std::int64_t>(), 6);
  }
}

TEST_F(AggregateFold, ManyPartsFoldAsOneByOneAndNullsBetweenThemKeepTheText) {
  Folding folding(Aggregate::kDictSum);
  folding.add(Value());
  for (int i = 0; i < 100; ++i) {
    folding.add(Value::any("{a=1;b={c=2}}"));
    folding.add(Value());
  }
  const Value total = folding.total(memory_);
  EXPECT_EQ(write_yson(parse_yson(total.text()).value(), YsonFormat::kText),
            R"({"a"=100;"b"={"c"=200;};})");
}

TEST_F(AggregateFold, ValuesOfDictSumAreMapsOfNumbers) {
  EXPECT_TRUE(check_dict("{a=1;b={c=2u;d=1.5};e={}}"));
  for (const std::string_view yson : {"1", "{a=x}", "{a=[1]}", "{a=#}", "{a=<b=1>1}", "{a"}) {
    EXPECT_FALSE(check_dict(yson)) << yson;
  }
}

}  // namespace
}  // namespace moraine::table
