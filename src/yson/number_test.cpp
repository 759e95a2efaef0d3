#include "yson/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace moraine {
namespace {

std::string yson(double value) {
  std::string out;
  append_yson_double(out, value);
  return out;
}
std::string shortest(double value) {
  std::string out;
  append_shortest(out, value);
  return out;
}
std::string json(double value) {
  std::string out;
  append_json_double(out, value);
  return out;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Number, YsonDoublesHaveTheFewestDigitsAndAPointOrAnExponent) {
  EXPECT_EQ(yson(1), "1.");
  EXPECT_EQ(yson(0), "0.");
  EXPECT_EQ(yson(-0.0), "-0.");
  EXPECT_EQ(yson(1.5), "1.5");
  EXPECT_EQ(yson(0.1), "0.1");
  EXPECT_EQ(yson(-123.456), "-123.456");
  EXPECT_EQ(yson(1000), "1000.");
  EXPECT_EQ(yson(1e20), "100000000000000000000.");
  EXPECT_EQ(yson(1e21), "1e+21");
  EXPECT_EQ(yson(1.25e21), "1.25e+21");
  EXPECT_EQ(yson(1e-10), "0.0000000001");
  EXPECT_EQ(yson(1.5e-10), "0.00000000015");
  EXPECT_EQ(yson(1e-11), "1e-11");
  EXPECT_EQ(yson(1.5e300), "1.5e+300");
  EXPECT_EQ(yson(5e-324), "5e-324");
  EXPECT_EQ(yson(kInfinity), "%inf");
  EXPECT_EQ(yson(-kInfinity), "%-inf");
  EXPECT_EQ(yson(std::nan("")), "%nan");
}

TEST(Number, ShortestHasNoPointOfItsOwn) {
  EXPECT_EQ(shortest(1), "1");
  EXPECT_EQ(shortest(-2.5), "-2.5");
  EXPECT_EQ(shortest(kInfinity), "inf");
  EXPECT_EQ(shortest(-kInfinity), "-inf");
  EXPECT_EQ(shortest(std::nan("")), "nan");
}

TEST(Number, JsonDoublesHaveTwentyDigits) {
  EXPECT_EQ(json(3.5), "3.5");
  EXPECT_EQ(json(1), "1.0");
  EXPECT_EQ(json(-0.0), "-0.0");
  EXPECT_EQ(json(0.1), "0.10000000000000000555");
  EXPECT_EQ(json(1e100), "1.0000000000000000159e+100");
  EXPECT_EQ(json(kInfinity), "inf");
  EXPECT_EQ(json(-kInfinity), "-inf");
}

TEST(Number, WhatIsWrittenReadsBackAsTheSameDouble) {
  std::uint64_t bits = 88172645463325252U;
  for (int round = 0; round < 20'000; ++round) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    for (const std::string& text : {yson(value), shortest(value), json(value)}) {
      double again = 0;
      ASSERT_TRUE(parse_double(text, again)) << text;
      ASSERT_EQ(again, value) << text;
    }
  }
}

TEST(Number, IntegersAreReadWholeAndInRange) {
  std::int64_t integer = 0;
  EXPECT_TRUE(parse_decimal("-9223372036854775808", integer));
  EXPECT_EQ(integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(parse_decimal("+0755", integer));
  EXPECT_EQ(integer, 755);
  for (const std::string_view text :
       {"", "+", "-", "+-1", "++1", "1 ", " 1", "9223372036854775808", "1.", "0x1"}) {
    EXPECT_FALSE(parse_decimal(text, integer)) << text;
  }
  std::uint64_t natural = 0;
  EXPECT_TRUE(parse_decimal("18446744073709551615", natural));
  EXPECT_FALSE(parse_decimal("18446744073709551616", natural));
  EXPECT_FALSE(parse_decimal("-1", natural));
}

TEST(Number, DoublesAreDigitsOnly) {
  double value = 0;
  EXPECT_TRUE(parse_double("1.", value));
  EXPECT_TRUE(parse_double("-.5", value));
  EXPECT_TRUE(parse_double("1e5", value));
  for (const std::string_view text :
       {"", "inf", "nan", "-inf", "0x1p3", "1e", ".", "1..2", "1e400"}) {
    EXPECT_FALSE(parse_double(text, value)) << text;
  }
}

}  // namespace
}  // namespace moraine
