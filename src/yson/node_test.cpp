#include "yson/node.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>

namespace moraine {
namespace {

YsonNode nested_lists(std::size_t depth) {
  YsonNode node;
  for (std::size_t at = 0; at < depth; ++at) {
    YsonList list;
    list.push_back(std::move(node));
    node = YsonNode(std::move(list));
  }
  return node;
}

std::vector<std::string> keys_of(const YsonMap& map) {
  std::vector<std::string> keys;
  for (const YsonPair& pair : map) keys.push_back(pair.key);
  return keys;
}

TEST(YsonNode, HoldsScalarsOfEachType) {
  EXPECT_TRUE(YsonNode().is_entity());
  EXPECT_EQ(*YsonNode(5).as<std::int64_t>(), 5);
  EXPECT_EQ(*YsonNode(5U).as<std::uint64_t>(), 5U);
  EXPECT_EQ(*YsonNode(0.5).as<double>(), 0.5);
  EXPECT_EQ(*YsonNode(true).as<bool>(), true);
  EXPECT_EQ(*YsonNode("text").as<std::string>(), "text");
  EXPECT_EQ(YsonNode("text").as<std::int64_t>(), nullptr);
  EXPECT_EQ(YsonNode(YsonList()).type(), YsonType::kList);
  EXPECT_EQ(YsonNode(YsonMap()).type(), YsonType::kMap);
  EXPECT_EQ(to_string(YsonNode(YsonMap()).type()), "map");
  EXPECT_EQ(to_string(YsonType::kEntity), "entity");
}

TEST(YsonMap, KeepsTheOrderInWhichKeysWereAdded) {
  YsonMap map;
  map.set("b", 1);
  map.set("a", 2);
  map["c"] = 3;
  map.set("b", 4);
  EXPECT_EQ(keys_of(map), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(*map.find("b"), YsonNode(4));
  EXPECT_EQ(map.find("d"), nullptr);
  EXPECT_TRUE(map.erase("a"));
  EXPECT_FALSE(map.erase("a"));
  EXPECT_EQ(keys_of(map), (std::vector<std::string>{"b", "c"}));
}

// Sizes around the powers of two at which the index merges its runs.
TEST(YsonMap, FindsEveryKeyAtEverySize) {
  YsonMap map;
  for (int size = 0; size < 300; ++size) {
    // Keys that share their first eight bytes, and keys that do not.
    map.set(size % 2 == 0 ? fmt::format("long prefix {}", size) : fmt::format("{}", size * 7919),
            size);
    for (int at = 0; at <= size; ++at) {
      const std::string key =
          at % 2 == 0 ? fmt::format("long prefix {}", at) : fmt::format("{}", at * 7919);
      const YsonNode* found = map.find(key);
      ASSERT_NE(found, nullptr) << key << " of " << size;
      ASSERT_EQ(*found->as<std::int64_t>(), at);
    }
    ASSERT_EQ(map.find("long prefix"), nullptr);
    ASSERT_EQ(map.find(""), nullptr);
  }
}

TEST(YsonMap, FindsTheOtherKeysAfterErasing) {
  YsonMap map;
  for (int at = 0; at < 100; ++at) map.set(fmt::format("key {}", at), at);
  for (int at = 0; at < 100; at += 3) EXPECT_TRUE(map.erase(fmt::format("key {}", at)));
  map.erase_if([](const YsonPair& pair) { return *pair.node.as<std::int64_t>() % 3 == 1; });
  map.set("new", -1);
  EXPECT_EQ(map.size(), 34U);
  for (int at = 0; at < 100; ++at) {
    EXPECT_EQ(map.find(fmt::format("key {}", at)) != nullptr, at % 3 == 2) << at;
  }
  EXPECT_EQ(*map.find("new"), YsonNode(-1));
}

TEST(YsonMap, KeysThatEndInZeroBytesDiffer) {
  YsonMap map;
  for (std::size_t zeros = 0; zeros < 20; ++zeros) map.set("a" + std::string(zeros, '\0'), zeros);
  EXPECT_EQ(map.size(), 20U);
  for (std::size_t zeros = 0; zeros < 20; ++zeros) {
    EXPECT_EQ(*map.find("a" + std::string(zeros, '\0')), YsonNode(zeros));
  }
}

TEST(YsonNode, AnyNodeMayHaveAttributes) {
  YsonNode node(1);
  EXPECT_FALSE(node.has_attributes());
  EXPECT_TRUE(node.attributes().empty());
  node.mutable_attributes().set("a", "x");
  EXPECT_TRUE(node.has_attributes());
  EXPECT_EQ(*node.attributes().find("a"), YsonNode("x"));
  node.set_value(std::string("y"));
  EXPECT_TRUE(node.has_attributes());
}

TEST(YsonNode, EqualityIgnoresTheOrderOfKeysAndKnowsNan) {
  YsonMap first;
  YsonMap second;
  for (int at = 0; at < 20; ++at) {
    first.set(fmt::format("{}", at), at);
    second.set(fmt::format("{}", 19 - at), 19 - at);
  }
  EXPECT_EQ(YsonNode(first), YsonNode(second));
  second.set("3", 4);
  EXPECT_FALSE(YsonNode(first) == YsonNode(second));
  EXPECT_FALSE(YsonNode(1) == YsonNode(1U));
  EXPECT_FALSE(YsonNode(1) == YsonNode(1.0));
  EXPECT_EQ(YsonNode(std::numeric_limits<double>::quiet_NaN()),
            YsonNode(std::numeric_limits<double>::quiet_NaN()));
  YsonNode with(1);
  with.mutable_attributes().set("a", 1);
  EXPECT_FALSE(with == YsonNode(1));
  EXPECT_FALSE(YsonNode(YsonList(1)) == YsonNode(YsonList(2)));
}

TEST(YsonNode, CopiesShareNothing) {
  YsonMap map;
  for (int at = 0; at < 20; ++at) map.set(fmt::format("{}", at), YsonList(2));
  YsonNode original(std::move(map));
  original.mutable_attributes().set("a", YsonMap());
  YsonNode copy = original;
  EXPECT_EQ(copy, original);
  *copy.as<YsonMap>()->find("7") = 7;
  copy.mutable_attributes().set("a", 1);
  EXPECT_EQ(*original.find("7"), YsonNode(YsonList(2)));
  EXPECT_EQ(*original.attributes().find("a"), YsonNode(YsonMap()));
  EXPECT_EQ(keys_of(*copy.as<YsonMap>()), keys_of(*original.as<YsonMap>()));
}

TEST(YsonNode, AssignmentFromItsOwnPartsIsSafe) {
  YsonNode node = nested_lists(5);
  node = std::move((*node.as<YsonList>())[0]);
  EXPECT_EQ(node, nested_lists(4));
  node = (*node.as<YsonList>())[0];
  EXPECT_EQ(node, nested_lists(3));
  YsonMap map;
  map.set("inner", YsonMap());
  map = *map.find("inner")->as<YsonMap>();
  EXPECT_TRUE(map.empty());
}

TEST(YsonNode, DeepTreesAreCopiedComparedAndDestroyedWithoutDeepCalls) {
  constexpr std::size_t kDepth = 1'000'000;
  const YsonNode lists = nested_lists(kDepth);
  YsonNode copy = lists;
  EXPECT_EQ(copy, lists);
  copy = YsonNode(1);
  EXPECT_FALSE(copy == lists);
  YsonNode maps;
  for (std::size_t at = 0; at < kDepth; ++at) {
    YsonMap map;
    map.set("k", std::move(maps));
    maps = YsonNode(std::move(map));
  }
  YsonNode attributes;
  for (std::size_t at = 0; at < kDepth; ++at) {
    YsonNode outer(1);
    outer.mutable_attributes().set("k", std::move(attributes));
    attributes = std::move(outer);
  }
  EXPECT_FALSE(attributes == maps);
}

}  // namespace
}  // namespace moraine
