#include "table/model/key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/random.h"

namespace moraine::table {
namespace {

using Limits = std::numeric_limits<std::int64_t>;
using Doubles = std::numeric_limits<double>;

std::vector<Value> interesting_values() {
  using namespace std::string_view_literals;
  return {Value(),
          Limits::min(),
          std::int64_t{-1},
          std::int64_t{0},
          std::int64_t{1},
          Limits::max(),
          std::uint64_t{0},
          std::uint64_t{1} << 63,
          ~std::uint64_t{0},
          -Doubles::infinity(),
          -1.5,
          -Doubles::denorm_min(),
          0.0,
          Doubles::denorm_min(),
          1e300,
          Doubles::infinity(),
          Doubles::quiet_NaN(),
          false,
          true,
          ""sv,
          "\0"sv,
          "\0\0"sv,
          "\0\x01"sv,
          "\0\xff"sv,
          "a"sv,
          "a\0"sv,
          "a\0b"sv,
          "ab"sv,
          "\xff"sv,
          Value::any(""),
          Value::any("\0x"sv),
          Value::any("[1;2]")};
}

TEST(Key, BytesOrderAsTheColumnsDo) {
  const std::vector<Value> values = interesting_values();
  for (const Value& a : values) {
    for (const Value& b : values) {
      const std::string left = encode_key(std::span(&a, 1));
      const std::string right = encode_key(std::span(&b, 1));
      EXPECT_EQ(compare_keys(as_bytes(left), as_bytes(right)), compare(a, b));
    }
  }
}

TEST(Key, ColumnsCountFromTheLeft) {
  const std::vector<Value> values = interesting_values();
  SeededRandom random(7);
  for (int round = 0; round < 20'000; ++round) {
    Value a[3];
    Value b[3];
    for (std::size_t i = 0; i < 3; ++i) {
      a[i] = values[random.below(values.size())];
      b[i] = random.one_in(2) ? a[i] : values[random.below(values.size())];
    }
    auto expected = std::strong_ordering::equal;
    for (std::size_t i = 0; i < 3 && expected == 0; ++i) expected = compare(a[i], b[i]);
    const std::string left = encode_key(a);
    const std::string right = encode_key(b);
    EXPECT_EQ(compare_keys(as_bytes(left), as_bytes(right)), expected);
  }
}

TEST(Key, APrefixIsBelowAllThatBeginWithIt) {
  const Value whole[] = {Value(std::int64_t{5}), Value()};
  const std::string prefix = encode_key(std::span(whole, 1));
  const std::string key = encode_key(whole);
  EXPECT_EQ(compare_keys(as_bytes(prefix), as_bytes(key)), std::strong_ordering::less);
}

TEST(Key, DecodingReturnsTheColumns) {
  const std::vector<Value> values = interesting_values();
  const std::string key = encode_key(values);
  std::vector<Value> columns;
  std::string memory = "old";
  ASSERT_TRUE(decode_key(as_bytes(key), columns, memory));
  ASSERT_EQ(columns.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(columns[i], values[i]) << i;
}

TEST(Key, TextsWithoutEscapesPointIntoTheKey) {
  const Value columns[] = {"plain"};
  const std::string key = encode_key(columns);
  std::vector<Value> decoded;
  std::string memory;
  ASSERT_TRUE(decode_key(as_bytes(key), decoded, memory));
  EXPECT_GE(decoded[0].text().data(), key.data());
  EXPECT_LT(decoded[0].text().data(), key.data() + key.size());
  EXPECT_TRUE(memory.empty());
}

TEST(Key, MinusZeroIsZeroAndEveryNanIsOne) {
  const Value zeros[] = {0.0, -0.0};
  EXPECT_EQ(encode_key(std::span(zeros, 1)), encode_key(std::span(zeros + 1, 1)));
  const Value nans[] = {Doubles::quiet_NaN(), -Doubles::quiet_NaN()};
  EXPECT_EQ(encode_key(std::span(nans, 1)), encode_key(std::span(nans + 1, 1)));
}

TEST(Key, BytesThatAreNoKeyAreRefused) {
  using namespace std::string_view_literals;
  std::vector<Value> columns;
  std::string memory;
  for (const std::string_view bytes :
       {"\x07"sv, "\x01short"sv, "\x05no end"sv, "\x05half end\0"sv, "\x05\0\x01"sv, "\x04\x02"sv,
        "\x03\x7f\xff\xff\xff\xff\xff\xff\xff"sv, "\x03\xff\xff\0\0\0\0\0\0"sv,
        "\x03\0\0\0\0\0\0\0\x01"sv}) {
    EXPECT_FALSE(decode_key(as_bytes(bytes), columns, memory));
  }
}

TEST(Key, CheckingComparesNumberAndTypesOfColumnsWithTheSchema) {
  TableSchema schema;
  schema.columns = {{.name = "a", .type = ColumnType::kInt32, .key = true},
                    {.name = "b", .type = ColumnType::kUtf8, .key = true},
                    {.name = "v"}};
  const auto check = [&](std::vector<Value> columns) {
    return check_key(as_bytes(encode_key(columns)), schema).has_value();
  };
  EXPECT_TRUE(check({std::int64_t{1}, "x"}));
  EXPECT_TRUE(check({Value(), Value()}));
  EXPECT_FALSE(check({std::int64_t{1}}));
  EXPECT_FALSE(check({std::int64_t{1}, "x", "y"}));
  EXPECT_FALSE(check({std::uint64_t{1}, "x"}));
  EXPECT_FALSE(check({std::int64_t{1}, std::string_view(std::string(kKeyBytesMax, 'x'))}));
}

}  // namespace
}  // namespace moraine::table
