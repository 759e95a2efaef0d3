#include "yson/json_writer.h"

#include <gtest/gtest.h>

#include "yson/reader.h"
#include "yson/yson.h"

namespace moraine {
namespace {

using namespace std::string_view_literals;
using Attributes = JsonOptions::Attributes;

// YSON as JSON, or the error.
std::string json(std::string_view yson, const JsonOptions& options = {},
                 YsonDocument document = YsonDocument::kNode) {
  std::string out;
  YsonReader reader(document);
  JsonWriter writer(out, options, document);
  const auto converted = convert(yson, reader, writer);
  return converted ? out : converted.error().context;
}

TEST(JsonWriter, WritesScalarsListsAndMaps) {
  EXPECT_EQ(json("[1;aaa;3.5]"), R"([1,"aaa",3.5])");
  EXPECT_EQ(json("{hello=world;foo=bar}"), R"({"hello":"world","foo":"bar"})");
  EXPECT_EQ(json("{list=[1;2;{string=this}]}"), R"({"list":[1,2,{"string":"this"}]})");
  EXPECT_EQ(json("[#;%true;%false;42u;18446744073709551615u;1.;[];{}]"),
            "[null,true,false,42,18446744073709551615,1.0,[],{}]");
  EXPECT_EQ(json("#"), "null");
}

TEST(JsonWriter, ItemsOfAListFragmentAreLines) {
  EXPECT_EQ(json("{hello=world};{foo=bar};#", {}, YsonDocument::kListFragment),
            "{\"hello\":\"world\"}\n{\"foo\":\"bar\"}\nnull\n");
  EXPECT_EQ(json("<x=y>#;{a=<b=[1]>2}", {}, YsonDocument::kListFragment),
            "{\"$attributes\":{\"x\":\"y\"},\"$value\":null}\n"
            "{\"a\":{\"$attributes\":{\"b\":[1]},\"$value\":2}}\n");
  EXPECT_EQ(json("a=1", {}, YsonDocument::kMapFragment), "json: there are no map fragments");
}

TEST(JsonWriter, AttributesStandBesideTheValue) {
  EXPECT_EQ(json("<foo=bar>[1]"), R"({"$attributes":{"foo":"bar"},"$value":[1]})");
  EXPECT_EQ(
      json("<foo=<another=2>bar>text"),
      R"({"$attributes":{"foo":{"$attributes":{"another":2},"$value":"bar"}},"$value":"text"})");
}

TEST(JsonWriter, AttributesAreWrittenAlwaysOrNever) {
  constexpr std::string_view kInput = "<foo=bar>{answer=42;question=<foo=bar>strange}";
  EXPECT_EQ(json(kInput, {.attributes = Attributes::kNever}),
            R"({"answer":42,"question":"strange"})");
  EXPECT_EQ(json(kInput, {.attributes = Attributes::kAlways}),
            R"({"$attributes":{"foo":{"$attributes":{},"$value":"bar"}},"$value":)"
            R"({"answer":{"$attributes":{},"$value":42},"question":)"
            R"({"$attributes":{"foo":{"$attributes":{},"$value":"bar"}},"$value":"strange"}}})");
}

TEST(JsonWriter, KeysThatBeginWithADollarGetAnother) {
  EXPECT_EQ(json(R"({"$value"=foo;"$$attributes"=bar;"$other"=42})"),
            R"({"$$value":"foo","$$$attributes":"bar","$$other":42})");
}

TEST(JsonWriter, StringsAreBytesOrUtf8) {
  EXPECT_EQ(json(R"("\xFF\0\x80")"), "\"\xc3\xbf\\u0000\xc2\x80\"");
  EXPECT_EQ(json(R"("\xd0\xba")"), "\"\xc3\x90\xc2\xba\"");
  EXPECT_EQ(json(R"("\xd0\xba")", {.encode_utf8 = false}), "\"\xd0\xba\"");
  EXPECT_EQ(json(R"("\xff")", {.encode_utf8 = false}),
            "json: a string is not UTF-8; use the option encode_utf8");
  EXPECT_EQ(json(R"({"\xff"=1})", {.encode_utf8 = false}),
            "json: a string is not UTF-8; use the option encode_utf8");
  EXPECT_EQ(json(R"("\"\\/\b\f\n\r\t\x1f\x7f")"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001F\x7f\"");
}

TEST(JsonWriter, NanAndInfinityNeedAnOption) {
  EXPECT_NE(json("%nan").find("stringify_nan_and_infinity"), std::string::npos);
  EXPECT_NE(json("%inf").find("support_infinity"), std::string::npos);
  EXPECT_EQ(json("{a=%-inf;b=%inf}", {.support_infinity = true}), R"({"a":-inf,"b":inf})");
  EXPECT_NE(json("%nan", {.support_infinity = true}).find("NaN"), std::string::npos);
  EXPECT_EQ(json("[%-inf;%inf;%nan;1.5]", {.stringify_nan_and_infinity = true}),
            R"(["-inf","inf","nan",1.5])");
}

TEST(JsonWriter, ScalarsAreStringsAndHaveTypes) {
  constexpr std::string_view kInput = "[1;2u;1.5;1.;%true;text;#]";
  EXPECT_EQ(json(kInput, {.stringify = true}), R"(["1","2","1.5","1","true","text",null])");
  EXPECT_EQ(json("[1;2u;text;#]", {.annotate_with_types = true}),
            R"([{"$type":"int64","$value":1},{"$type":"uint64","$value":2},)"
            R"({"$type":"string","$value":"text"},null])");
  EXPECT_EQ(
      json("[1.5;%true;<a=1>2]", {.stringify = true, .annotate_with_types = true}),
      R"([{"$type":"double","$value":"1.5"},{"$type":"boolean","$value":"true"},)"
      R"({"$attributes":{"a":{"$type":"int64","$value":"1"}},"$type":"int64","$value":"2"}])");
}

TEST(JsonWriter, LongStringsAreCutAndMarked) {
  EXPECT_EQ(json("[abc;abcd;<a=1>abcdef]", {.string_length_limit = 3}),
            R"(["abc",{"$incomplete":true,"$value":"abc"},)"
            R"({"$attributes":{"a":1},"$incomplete":true,"$value":"abc"}])");
  EXPECT_EQ(json("abcd", {.annotate_with_types = true, .string_length_limit = 3}),
            R"({"$incomplete":true,"$type":"string","$value":"abc"})");
  EXPECT_EQ(json("abcd", {.attributes = Attributes::kNever, .string_length_limit = 3}),
            R"("abcd")");
  EXPECT_EQ(json(R"("a\xd0\xba")", {.encode_utf8 = false, .string_length_limit = 2}),
            R"({"$incomplete":true,"$value":"a"})");
}

TEST(JsonWriter, PrettyIsIndentedByFour) {
  EXPECT_EQ(json("[123;{key=%true;value=4.25};[]]", {.pretty = true}),
            "[\n    123,\n    {\n        \"key\": true,\n        \"value\": 4.25\n    },\n"
            "    [\n\n    ]\n]\n");
}

TEST(JsonWriter, TreesAreWrittenToo) {
  std::string out;
  JsonWriter writer(out, {});
  EXPECT_TRUE(emit(parse_yson("<a=1>{b=[2;#]}").value(), writer));
  EXPECT_EQ(out, R"({"$attributes":{"a":1},"$value":{"b":[2,null]}})");
}

}  // namespace
}  // namespace moraine
