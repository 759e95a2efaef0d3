#include "table/model/composite.h"

#include <gtest/gtest.h>

#include <string>

#include "table/model/limits.h"
#include "yson/yson.h"

namespace moraine::table {
namespace {

LogicalType type(std::string_view yson) {
  auto parsed = parse_type_text(yson);
  EXPECT_TRUE(parsed) << yson << ": " << parsed.error().message();
  return parsed.value_or(LogicalType());
}

std::string as_text(const Result<std::string>& binary) {
  if (!binary) return "error: " + binary.error().context;
  const auto node = parse_yson(*binary);
  if (!node) return "no YSON: " + node.error().context;
  return write_yson(*node, YsonFormat::kText);
}

std::string stored(std::string_view of, std::string_view yson) {
  const Result<std::string> encoded = encode_composite(type(of), yson);
  if (encoded) EXPECT_EQ(encode_composite(type(of), *encoded).value_or("?"), *encoded);
  return as_text(encoded);
}
std::string named(std::string_view of, std::string_view yson) {
  const auto encoded = encode_composite(type(of), yson);
  if (!encoded) return "error: " + encoded.error().context;
  const auto parts = name_parts(type(of), *encoded);
  if (parts) EXPECT_EQ(encode_composite(type(of), *parts).value_or("?"), *encoded);
  return as_text(parts);
}

constexpr std::string_view kPoint =
    "{type_name=struct;members=[{name=x;type=int8};{name=y;type={type_name=optional;item=int8}}]}";
constexpr std::string_view kShape =
    "{type_name=variant;members=[{name=side;type=uint16};{name=none;type=null}]}";

TEST(Composite, ListsAndTuples) {
  constexpr std::string_view kList = "{type_name=list;item=int8}";
  EXPECT_EQ(stored(kList, "[1;2;-3]"), "[1;2;-3;]");
  EXPECT_EQ(stored(kList, "[]"), "[]");
  EXPECT_EQ(stored(kList, "[5u]"), "[5;]");
  EXPECT_EQ(stored(kList, "[1;200]"), "error: at 1: value 200 is out of range of type int8");
  EXPECT_EQ(stored(kList, "{}"), "error: a list is expected");
  EXPECT_EQ(stored(kList, "[#]"), "error: at 0: a int8 is expected");
  EXPECT_NE(stored(kList, "[1;2").find("error"), std::string::npos);
  EXPECT_NE(stored(kList, "[1];[2]").find("error"), std::string::npos);
  constexpr std::string_view kTuple = "{type_name=tuple;elements=[{type=int8};{type=utf8}]}";
  EXPECT_EQ(stored(kTuple, "[1;a]"), "[1;\"a\";]");
  EXPECT_EQ(stored(kTuple, "[1]"), "error: items are missing: the type has 2");
  EXPECT_EQ(stored(kTuple, "[1;a;b]"), "error: there are more than 2 elements");
  EXPECT_EQ(stored(kTuple, "[1;\"\\xff\"]"), "error: at 1: value is not valid UTF-8");
}

TEST(Composite, StructsByOrderAndByName) {
  EXPECT_EQ(stored(kPoint, "[1;2]"), "[1;2;]");
  EXPECT_EQ(stored(kPoint, "{y=2;x=1}"), "[1;2;]");
  EXPECT_EQ(stored(kPoint, "{x=1}"), "[1;#;]");
  EXPECT_EQ(stored(kPoint, "[1]"), "[1;#;]");
  EXPECT_EQ(named(kPoint, "[1]"), "{\"x\"=1;\"y\"=#;}");
  EXPECT_EQ(stored(kPoint, "{y=2}"), "error: member \"x\" is missing");
  EXPECT_EQ(stored(kPoint, "{x=1;z=2}"), "error: the struct has no member \"z\"");
  EXPECT_EQ(stored(kPoint, "{x=1;x=2}"), "error: member \"x\" is given twice");
  EXPECT_EQ(stored(kPoint, "{x=a}"), "error: at x: expected \"int8\", actual \"string\"");
  EXPECT_EQ(stored(kPoint, "[1;2;3]"), "error: there are more than 2 members");
}

TEST(Composite, VariantsByNumberAndByName) {
  EXPECT_EQ(stored(kShape, "[0;7]"), "[0;7u;]");
  EXPECT_EQ(stored(kShape, "[side;7]"), "[0;7u;]");
  EXPECT_EQ(stored(kShape, "[none;#]"), "[1;#;]");
  EXPECT_EQ(named(kShape, "[1;#]"), "[\"none\";#;]");
  for (const std::string_view bad :
       {"[2;#]", "[-1;#]", "[other;#]", "[side;-1]", "[side]", "[]", "[side;1;2]", "{side=1}"}) {
    EXPECT_TRUE(stored(kShape, bad).starts_with("error")) << bad;
  }
  constexpr std::string_view kTuple = "{type_name=variant;elements=[{type=int8};{type=bool}]}";
  EXPECT_EQ(stored(kTuple, "[1;%true]"), "[1;%true;]");
  EXPECT_EQ(named(kTuple, "[1;%true]"), "[1;%true;]");
}

TEST(Composite, Dicts) {
  constexpr std::string_view kDict = "{type_name=dict;key=string;value=int64}";
  EXPECT_EQ(stored(kDict, "[[a;1];[b;2]]"), "[[\"a\";1;];[\"b\";2;];]");
  EXPECT_EQ(stored(kDict, "{a=1}"), "[[\"a\";1;];]");
  EXPECT_EQ(stored(kDict, "[[a]]"), "error: items are missing: the type has 2");
  EXPECT_EQ(stored(kDict, "[[a;b]]"), "error: at 0/value: expected \"int64\", actual \"string\"");
  constexpr std::string_view kNumbers = "{type_name=dict;key=int8;value=null}";
  EXPECT_EQ(stored(kNumbers, "[[1;#]]"), "[[1;#;];]");
  EXPECT_TRUE(stored(kNumbers, "{a=#}").starts_with("error"));
}

TEST(Composite, NestedOptionalsAreTold) {
  constexpr std::string_view kTwice = "{type_name=optional;item={type_name=optional;item=int8}}";
  EXPECT_EQ(stored(kTwice, "#"), "#");
  EXPECT_EQ(stored(kTwice, "[#]"), "[#;]");
  EXPECT_EQ(stored(kTwice, "[1]"), "[1;]");
  EXPECT_EQ(stored(kTwice, "1"), "error: a list of one item is expected");
  EXPECT_EQ(stored("{type_name=list;item={type_name=optional;item=int8}}", "[#;1]"), "[#;1;]");
  EXPECT_EQ(stored("{type_name=list;item={type_name=tagged;tag=t;item=void}}", "[#]"), "[#;]");
}

TEST(Composite, AnyPartsAreKeptAsTheyAre) {
  constexpr std::string_view kAny = "{type_name=list;item=yson}";
  EXPECT_EQ(stored(kAny, "[<a=1>{b=[1;2;{}]};#;x]"), "[<\"a\"=1;>{\"b\"=[1;2;{};];};#;\"x\";]");
}

TEST(Composite, ErrorsSayWhere) {
  const std::string of = "{type_name=list;item=" + std::string(kPoint) + "}";
  EXPECT_EQ(stored(of, "[[1;2];{x=1;y=300}]"),
            "error: at 1/y: value 300 is out of range of type int8");
}

TEST(Composite, LongValuesAreRefused) {
  const std::string text(kValueBytesMax / 2, 'x');
  constexpr std::string_view kList = "{type_name=list;item=string}";
  EXPECT_TRUE(encode_composite(type(kList), "[\"" + text + "\"]"));
  EXPECT_FALSE(encode_composite(type(kList), "[\"" + text + "\";\"" + text + "\"]"));
}

TEST(Composite, NarrowerValuesAreValuesOfWiderTypes) {
  const auto narrow = encode_composite(type(kPoint), "[1;2]");
  ASSERT_TRUE(narrow);
  const std::string wide =
      "{type_name=struct;members=[{name=x;type=int64};{name=y;type={type_name=optional;item=int8}};"
      "{name=z;type={type_name=optional;item=utf8}}]}";
  ASSERT_TRUE(is_wider(type(kPoint), type(wide)));
  EXPECT_EQ(as_text(name_parts(type(wide), *narrow)), "{\"x\"=1;\"y\"=2;\"z\"=#;}");
}

std::string decimal_bytes(std::size_t size, __int128 value) {
  const auto word =
      static_cast<unsigned __int128>(value) + (static_cast<unsigned __int128>(1) << (size * 8 - 1));
  std::string bytes;
  for (std::size_t i = size; i-- > 0;) bytes += static_cast<char>(word >> (8 * i));
  return bytes;
}

TEST(Decimal, BytesAndDigitsAreChecked) {
  const auto fits = [](int precision, const std::string& bytes) {
    const LogicalType decimal =
        type(fmt::format("{{type_name=decimal;precision={};scale=1}}", precision));
    return check_decimal(decimal, bytes).has_value();
  };
  EXPECT_TRUE(fits(3, decimal_bytes(4, 999)));
  EXPECT_TRUE(fits(3, decimal_bytes(4, -999)));
  EXPECT_FALSE(fits(3, decimal_bytes(4, 1000)));
  EXPECT_FALSE(fits(3, decimal_bytes(4, -1000)));
  EXPECT_FALSE(fits(3, decimal_bytes(8, 1)));
  EXPECT_TRUE(fits(18, decimal_bytes(8, 999'999'999'999'999'999)));
  EXPECT_TRUE(fits(19, decimal_bytes(16, 1)));
  EXPECT_FALSE(fits(19, ""));
  EXPECT_TRUE(fits(3, std::string("\xff\xff\xff\xff", 4))) << "NaN";
  EXPECT_TRUE(fits(3, std::string("\xff\xff\xff\xfe", 4))) << "infinity";
  EXPECT_TRUE(fits(3, std::string("\x00\x00\x00\x02", 4))) << "minus infinity";
  EXPECT_FALSE(fits(3, std::string("\x00\x00\x00\x01", 4)));
  EXPECT_FALSE(fits(3, std::string("\x00\x00\x00\x00", 4)));
  EXPECT_LT(decimal_bytes(4, -5), decimal_bytes(4, 3)) << "bytes have the order of numbers";
}

}  // namespace
}  // namespace moraine::table
