// The YSON functions of facts section 8.6, and the order of values of type any.

#include <gtest/gtest.h>

#include "query/function/any_order.h"
#include "query/function/call.h"
#include "yson/yson.h"

namespace moraine::query {
namespace {

using F = Function;

std::string text_of(const Result<Value>& value) {
  if (!value) return "error: " + value.error().context;
  switch (value->type()) {
    case ValueType::kNull: return "null";
    case ValueType::kInt64: return std::to_string(value->as_int64());
    case ValueType::kUint64: return std::to_string(value->as_uint64()) + "u";
    case ValueType::kDouble: return std::to_string(value->as_double()) + "d";
    case ValueType::kBoolean: return value->as_boolean() ? "true" : "false";
    case ValueType::kString: return std::string(value->text());
    case ValueType::kAny: break;
  }
  return write_yson(*parse_yson(value->text()), YsonFormat::kText);
}

class AnyFunctions : public testing::Test {
 protected:
  std::string call(F function, std::vector<Value> arguments) {
    return text_of(call_function(function, arguments, memory_));
  }
  static Value any(std::string_view yson) { return Value::any(yson); }

  table::TextMemory memory_;
};

constexpr std::string_view kRow =
    "{a=1;k={k2=<b=7>3;k3=10u};d=1.5;t=%true;s=text;e=#;neg=[1;2;3];\"x/y\"=4;"
    "lst=<a=[1;{a=3};{b=7u}]>[0;1;<a={b=4}>2]}";

TEST_F(AnyFunctions, GetByPath) {
  const Value row = any(kRow);
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/a"}), "1");
  EXPECT_EQ(call(F::kTryGetUint64, {row, "/a"}), "null") << "types are exact";
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/k/k2"}), "3") << "attributes are left out";
  EXPECT_EQ(call(F::kTryGetUint64, {row, "/k/k3"}), "10u");
  EXPECT_EQ(call(F::kTryGetUint64, {row, "/lst/@a/2/b"}), "7u");
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/lst/2/@a/b"}), "4");
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/neg/-1"}), "3");
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/neg/3"}), "null");
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/neg/-4"}), "null");
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/x\\/y"}), "4");
  EXPECT_EQ(call(F::kTryGetDouble, {row, "/d"}), "1.500000d");
  EXPECT_EQ(call(F::kTryGetBoolean, {row, "/t"}), "true");
  EXPECT_EQ(call(F::kTryGetString, {row, "/s"}), "text");
  EXPECT_EQ(call(F::kTryGetString, {row, "/none/deeper"}), "null");
  EXPECT_EQ(call(F::kTryGetAny, {row, "/k"}), "{\"k2\"=<\"b\"=7;>3;\"k3\"=10u;}");
  EXPECT_EQ(call(F::kTryGetAny, {row, "/e"}), "#");
  EXPECT_EQ(call(F::kTryGetInt64, {row, "/e"}), "null");
  EXPECT_EQ(call(F::kTryGetAny, {any("5"), ""}), "5");
  EXPECT_EQ(call(F::kGetInt64, {row, "/a"}), "1");
  EXPECT_EQ(call(F::kGetInt64, {row, "/s"}),
            "error: Value of type \"int64\" is not found at path \"/s\"");
  EXPECT_EQ(call(F::kGetAny, {row, "/none"}),
            "error: Value of type \"any\" is not found at path \"/none\"");
}

TEST_F(AnyFunctions, PathsAreChecked) {
  EXPECT_EQ(call(F::kTryGetInt64, {any("{}"), "a"}),
            "error: Malformed path \"a\": it does not begin with a slash");
  EXPECT_EQ(call(F::kTryGetInt64, {any("{}"), "/a//b"}),
            "error: Malformed path \"/a//b\": a name is empty");
  EXPECT_EQ(call(F::kTryGetInt64, {any("{}"), "/a\\"}),
            "error: Malformed path \"/a\\\": it ends with a backslash");
}

TEST_F(AnyFunctions, Lists) {
  const Value list = any("[1;2u;a;%true;1.5;#;<x=1>7;{k=v};[1;2]]");
  EXPECT_EQ(call(F::kListContains, {list, 1}), "true");
  EXPECT_EQ(call(F::kListContains, {list, 2}), "false") << "2u is no int64";
  EXPECT_EQ(call(F::kListContains, {list, std::uint64_t{2}}), "true");
  EXPECT_EQ(call(F::kListContains, {list, "a"}), "true");
  EXPECT_EQ(call(F::kListContains, {list, 1.5}), "true");
  EXPECT_EQ(call(F::kListContains, {list, Value()}), "true");
  EXPECT_EQ(call(F::kListContains, {list, any("[1;2]")}), "true");
  EXPECT_EQ(call(F::kListContains, {list, any("{k=v}")}),
            "error: Values of type map are not comparable");
  EXPECT_EQ(call(F::kListContains, {Value(), 1}), "null");
  EXPECT_EQ(call(F::kListContains, {any("5"), 1}),
            "error: Expected a list, got a value of type int64");
  EXPECT_EQ(call(F::kListHasIntersection, {any("[1;2;3]"), any("[5;3]")}), "true");
  EXPECT_EQ(call(F::kListHasIntersection, {any("[1;2;3]"), any("[5;3u]")}), "false");
  EXPECT_EQ(call(F::kListHasIntersection, {any("[]"), any("[]")}), "false");
  EXPECT_EQ(call(F::kYsonLength, {list}), "9");
  EXPECT_EQ(call(F::kYsonLength, {any("<a=1>{x=[1;2];y=#}")}), "2");
  EXPECT_EQ(call(F::kYsonLength, {any("text")}), "error: yson_length of a value of type string");
}

TEST_F(AnyFunctions, Making) {
  EXPECT_EQ(call(F::kMakeMap, {"a", 1, "b", Value()}), "{\"a\"=1;\"b\"=#;}");
  EXPECT_EQ(call(F::kMakeMap, {"a", any("[1]"), "a", 2}),
            "error: make_map has the key \"a\" twice");
  EXPECT_EQ(call(F::kMakeMap, {Value(), 2}), "error: a key of make_map is null");
  EXPECT_EQ(call(F::kMakeMap, {}), "{}");
  EXPECT_EQ(call(F::kMakeList, {"a", 1, std::uint64_t{2}, 1.5, true, any("{}")}),
            "[\"a\";1;2u;1.5;%true;{};]");
  EXPECT_EQ(call(F::kMakeList, {}), "[]");
  EXPECT_EQ(call(F::kMakeEntity, {}), "#");
  EXPECT_EQ(call(F::kSplit, {"a,,b", ","}), "[\"a\";\"\";\"b\";]");
  EXPECT_EQ(call(F::kSplit, {"", ","}), "[\"\";]");
  EXPECT_EQ(call(F::kSplit, {"a", ""}), "error: the delimiter of split is empty");
}

TEST_F(AnyFunctions, Conversions) {
  EXPECT_EQ(call(F::kToAny, {5}), "5");
  EXPECT_EQ(call(F::kToAny, {"x"}), "\"x\"");
  EXPECT_EQ(call(F::kAnyToYsonString, {any("{a=[1;2u]}")}), "{\"a\"=[1;2u;];}");
  EXPECT_EQ(call(F::kYsonStringToAny, {"{a=1}"}), "{\"a\"=1;}");
  EXPECT_TRUE(call(F::kYsonStringToAny, {"{a="}).starts_with("error: "));
  EXPECT_EQ(call(F::kString, {any("text")}), "text");
  EXPECT_EQ(call(F::kString, {"text"}), "text");
  EXPECT_EQ(call(F::kString, {any("5")}), "error: Cannot convert a value of type int64 to string");
  EXPECT_EQ(call(F::kInt64, {any("5u")}), "5");
  EXPECT_EQ(call(F::kInt64, {any("-5.9")}), "-5");
  EXPECT_EQ(call(F::kUint64, {any("5")}), "5u");
  EXPECT_EQ(call(F::kDouble, {any("5")}), "5.000000d");
  EXPECT_EQ(call(F::kInt64, {any("1e300")}), "error: double is out of the range of int64");
  EXPECT_EQ(call(F::kInt64, {any("%true")}),
            "error: Cannot convert a value of type boolean to int64");
  EXPECT_EQ(call(F::kInt64, {any("#")}), "error: Cannot convert a value of type entity to int64");
  EXPECT_EQ(call(F::kInt64, {any("[1]")}), "error: Cannot convert a value of type list to int64");
  EXPECT_EQ(call(F::kBoolean, {any("%true")}), "true");
  EXPECT_EQ(call(F::kBoolean, {any("1")}),
            "error: Cannot convert a value of type int64 to boolean");
  EXPECT_EQ(call(F::kGreatest, {any("[1;2]"), any("[1;2;0]"), any("text")}), "[1;2;0;]");
}

std::string order_of(const Value& value) {
  std::string order;
  const auto done = append_order(order, value);
  return done ? order : "error: " + done.error().context;
}

TEST(AnyOrder, IsThatOfTheFacts) {
  const std::vector<std::string_view> sorted = {
      "#",   "-5",           "0",      "7",     "0u",     "7u",    "-1.5",       "0.",
      "1.5", "%inf",         "%false", "%true", "\"\"",   "a",     "\"a\\x00\"", "ab",
      "[]",  "[#]",          "[#;#]",  "[#;1]", "[1]",    "[1;1]", "[1;1u]",     "[2]",
      "[a]", "[\"a\\x00\"]", "[[]]",   "[[1]]", "[[1];0]"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      const auto order = compare_any(Value::any(sorted[i]), Value::any(sorted[j]));
      ASSERT_TRUE(order);
      EXPECT_EQ(*order, i <=> j) << sorted[i] << " " << sorted[j];
    }
    EXPECT_EQ(*compare_any(Value(), Value::any(sorted[i])), std::strong_ordering::less);
  }
}

TEST(AnyOrder, ScalarsAreAsValuesOfTheirType) {
  EXPECT_EQ(order_of(Value::any("5")), order_of(5));
  EXPECT_EQ(order_of(Value::any("5u")), order_of(std::uint64_t{5}));
  EXPECT_EQ(order_of(Value::any("-0.")), order_of(0.0));
  EXPECT_EQ(order_of(Value::any("\"a\\x00b\"")), order_of(std::string_view("a\0b", 3)));
  EXPECT_EQ(order_of(Value::any("%true")), order_of(true));
  EXPECT_EQ(order_of(Value::any(write_yson(*parse_yson("[1;x]"), YsonFormat::kBinary))),
            order_of(Value::any("[ 1 ; x ]")));
}

TEST(AnyOrder, MapsAndNanHaveNone) {
  EXPECT_EQ(order_of(Value::any("{}")), "error: Values of type map are not comparable");
  EXPECT_EQ(order_of(Value::any("[{}]")), "error: Values of type map are not comparable");
  EXPECT_EQ(order_of(Value::any("<a=1>5")),
            "error: Values of type node with attributes are not comparable");
  EXPECT_EQ(order_of(Value::any("[%nan]")), "error: Comparison with NaN");
}

TEST(AnyOrder, EqualValuesHaveOneCanonicalForm) {
  EXPECT_EQ(*canonical_yson(Value::any("[1;-0.;\"a\"]")), *canonical_yson(Value::any("[1;0.;a;]")));
  EXPECT_FALSE(canonical_yson(Value::any("{}")));
}

}  // namespace
}  // namespace moraine::query
