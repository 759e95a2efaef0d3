#include "table/chunk/key_order.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace moraine::table
