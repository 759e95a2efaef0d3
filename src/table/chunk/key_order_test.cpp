#include "table/chunk/key_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace moraine::table {
namespace {

TableSchema with_key(ColumnType type) {
  TableSchema schema;
  schema.columns.push_back({.name = "k", .type = type, .key = true});
  return schema;
}

std::vector<Value> values_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64:
      return {Value(INT64_MIN), Value(std::int64_t{-1}), Value(std::int64_t{0}), Value(INT64_MAX)};
    case ColumnType::kUint64:
      return {Value(std::uint64_t{0}), Value(std::uint64_t{1}), Value(UINT64_MAX)};
    case ColumnType::kDouble:
      return {Value(-std::numeric_limits<double>::infinity()), Value(-1.5), Value(0.0), Value(2.5),
              Value(std::nan(""))};
    case ColumnType::kBoolean: return {Value(false), Value(true)};
    case ColumnType::kAny: return {Value::any("a"), Value::any("bc")};
    default:
      return {Value(""),
              Value(std::string_view("\0", 1)),
              Value(std::string_view("\0a", 2)),
              Value("a"),
              Value(std::string_view("a\0b", 3)),
              Value("abcdefgh"),
              Value("abcdefgi"),
              Value("abcdefgij"),
              Value("\xff\xff")};
  }
}

class KeyOrderOf : public testing::TestWithParam<ColumnType> {};

TEST_P(KeyOrderOf, WordsAscendWithKeysAndBoundsAreNotAboveThem) {
  const KeyOrder order(with_key(GetParam()));
  std::vector<Value> values = values_of(GetParam());
  values.insert(values.begin(), Value());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string key = encode_key(std::vector<Value>{values[i]});
    const std::uint64_t word = order.of(values[i]);
    for (std::size_t cut = 0; cut <= key.size(); ++cut) {
      EXPECT_LE(order.of_bound(as_bytes(key).first(cut)), word) << i << " " << cut;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t before = order.of(values[j]);
      EXPECT_LE(before, word) << j << " " << i;
      if (before == word) EXPECT_FALSE(order.decides(word)) << j << " " << i;
      EXPECT_LE(order.of_bound(as_bytes(encode_key(std::vector<Value>{values[j]}))), word);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, KeyOrderOf,
                         testing::Values(ColumnType::kInt64, ColumnType::kUint64,
                                         ColumnType::kDouble, ColumnType::kBoolean,
                                         ColumnType::kString, ColumnType::kAny),
                         [](const auto& type) {
                           return "Type" + std::to_string(static_cast<int>(type.param));
                         });

// Keys of three columns within known ranges, at their ends, and outside of them.
TEST(KeyOrderFields, WordsOfSeveralColumnsAscendWithKeysAndSayWhatTheyDecide) {
  TableSchema schema = with_key(ColumnType::kInt64);
  schema.columns.push_back({.name = "l", .type = ColumnType::kUint64, .key = true});
  schema.columns.push_back({.name = "m", .type = ColumnType::kBoolean, .key = true});
  const auto word_of_int = [](std::int64_t value) {
    return ordered_word(ValueType::kInt64, static_cast<std::uint64_t>(value));
  };
  const std::vector<KeyColumnRange> ranges{
      {.values = true, .least = word_of_int(-3), .greatest = word_of_int(4)},
      {.values = true, .least = 100, .greatest = 130},
      {.values = true, .least = 0, .greatest = 1}};
  const KeyOrder order(schema, ranges);
  ASSERT_EQ(order.fields().size(), 3u);
  std::vector<std::pair<std::string, bool>> keys;  // And: within the ranges.
  for (const std::int64_t a : {INT64_MIN, std::int64_t{-4}, std::int64_t{-3}, std::int64_t{0},
                               std::int64_t{4}, std::int64_t{5}, INT64_MAX}) {
    for (const std::uint64_t b : {0u, 99u, 100u, 117u, 130u, 131u, 4'000'000'000u}) {
      for (const bool c : {false, true}) {
        const bool inside = a >= -3 && a <= 4 && b >= 100 && b <= 130;
        keys.emplace_back(encode_key(std::vector<Value>{Value(a), Value(b), Value(c)}), inside);
      }
      keys.emplace_back(encode_key(std::vector<Value>{Value(a), Value(b), Value()}), false);
    }
    keys.emplace_back(encode_key(std::vector<Value>{Value(a), Value(), Value(true)}), false);
  }
  keys.emplace_back(encode_key(std::vector<Value>{Value(), Value(), Value()}), false);
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ByteSpan key = as_bytes(keys[i].first);
    const std::uint64_t word = order.of_bound(key);
    if (keys[i].second) EXPECT_TRUE(order.decides(word)) << i;
    for (std::size_t cut = 0; cut <= key.size(); ++cut) {
      EXPECT_LE(order.of_bound(key.first(cut)), word) << i << " " << cut;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::uint64_t before = order.of_bound(as_bytes(keys[j].first));
      EXPECT_LE(before, word) << j << " " << i;
      if (before != word) continue;
      EXPECT_FALSE(order.decides(word)) << j << " " << i;
      const std::size_t shared = order.decided(word) * 9;
      EXPECT_EQ(keys[i].first.substr(0, shared), keys[j].first.substr(0, shared));
    }
  }
}

TEST(KeyOrderFields, ColumnsThatDoNotFitTogetherAreLeftOut) {
  TableSchema schema = with_key(ColumnType::kInt64);
  schema.columns.push_back({.name = "l", .type = ColumnType::kUint64, .key = true});
  const KeyColumnRange all{.values = true, .least = 0, .greatest = ~std::uint64_t{0}};
  const KeyColumnRange narrow{.values = true, .least = 5, .greatest = 9};
  EXPECT_TRUE(KeyOrder(schema, std::vector{all, narrow}).fields().empty());
  EXPECT_TRUE(KeyOrder(schema, std::vector{narrow, all}).fields().empty());
  EXPECT_EQ(KeyOrder(schema, std::vector{narrow, narrow}).fields().size(), 2u);
  EXPECT_EQ(KeyOrder(schema, std::vector{narrow, KeyColumnRange{}}).fields().size(), 2u);
  schema.columns[1].type = ColumnType::kString;
  EXPECT_TRUE(KeyOrder(schema, std::vector{narrow, narrow}).fields().empty());
}

}  // namespace
}  // namespace moraine::table
