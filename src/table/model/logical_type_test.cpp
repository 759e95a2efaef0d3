#include "table/model/logical_type.h"

#include <gtest/gtest.h>

#include <string>

#include "yson/yson.h"

namespace moraine::table {
namespace {

LogicalType type(std::string_view yson) {
  auto parsed = parse_type_text(yson);
  EXPECT_TRUE(parsed) << yson << ": " << parsed.error().message();
  return parsed.value_or(LogicalType());
}

ColumnSchema column(std::string_view yson) {
  ColumnSchema made{.name = "c"};
  set_type(made, type(yson));
  return made;
}

// One of every kind.
constexpr std::string_view kAll[] = {
    "int64",
    "bool",
    "yson",
    "interval64",
    "null",
    "void",
    "{type_name=decimal;precision=10;scale=3}",
    "{type_name=optional;item=int8}",
    "{type_name=optional;item={type_name=optional;item=utf8}}",
    "{type_name=optional;item=null}",
    "{type_name=list;item={type_name=list;item=double}}",
    "{type_name=struct;members=[{name=a;type=int8};{name=\"b "
    "c\";type={type_name=list;item=json}}]}",
    "{type_name=struct;members=[]}",
    "{type_name=tuple;elements=[{type=int8};{type=uuid}]}",
    "{type_name=variant;members=[{name=a;type=int8};{name=b;type=null}]}",
    "{type_name=variant;elements=[{type=int8};{type=int8}]}",
    "{type_name=dict;key=string;value={type_name=optional;item=int64}}",
    "{type_name=tagged;tag=image;item=string}",
    "{type_name=tagged;tag=x;item={type_name=optional;item=string}}"};

TEST(LogicalType, TypesAreReadAsPrinted) {
  for (const std::string_view text : kAll) {
    const LogicalType one = type(text);
    EXPECT_EQ(type(print_type(one)), one) << text;
    EXPECT_EQ(parse_type(to_yson(one)).value(), one) << text;
    EXPECT_TRUE(is_wider(one, one)) << text;
  }
}

TEST(LogicalType, AColumnKeepsItsType) {
  for (const std::string_view text : kAll) {
    const ColumnSchema made = column(text);
    EXPECT_EQ(type_of(made), type(text)) << text;
    EXPECT_TRUE(check_type(made)) << text;
  }
}

TEST(LogicalType, SimpleTypesOfColumnsNeedNoTypeV3) {
  EXPECT_EQ(column("int64"),
            (ColumnSchema{.name = "c", .type = ColumnType::kInt64, .required = true}));
  EXPECT_EQ(column("{type_name=optional;item=yson}"),
            (ColumnSchema{.name = "c", .type = ColumnType::kAny}));
  EXPECT_EQ(column("bool").type, ColumnType::kBoolean);
}

TEST(LogicalType, OtherTypesAreStoredAsTextOrYson) {
  const ColumnSchema decimal = column("{type_name=decimal;precision=3;scale=2}");
  EXPECT_EQ(decimal.type, ColumnType::kString);
  EXPECT_TRUE(decimal.required);
  EXPECT_EQ(type_name(decimal), "string");
  const ColumnSchema list = column("{type_name=optional;item={type_name=list;item=int8}}");
  EXPECT_EQ(list.type, ColumnType::kAny);
  EXPECT_FALSE(list.required);
  EXPECT_EQ(type_name(list), "any");
  EXPECT_TRUE(type_of(list).parts.front().is_composite());
  const ColumnSchema tagged = column("{type_name=tagged;tag=t;item=uint8}");
  EXPECT_EQ(tagged.type, ColumnType::kUint8);
  EXPECT_TRUE(tagged.required);
  EXPECT_FALSE(type_of(tagged).is_composite());
  EXPECT_EQ(type_name(column("null")), "null");
  EXPECT_EQ(type_name(column("void")), "void");
  EXPECT_FALSE(column("null").required);
}

TEST(LogicalType, InvalidTypesAreRefused) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"boolean", "is not the name of a type"},
      {"{item=int8}", "nor a map with a \"type_name\""},
      {"5", "neither a name"},
      {"{type_name=list}", "has no \"item\""},
      {"{type_name=decimal;precision=36;scale=0}", "0..35"},
      {"{type_name=decimal;precision=0;scale=0}", "is 0"},
      {"{type_name=decimal;precision=2;scale=3}", "above its precision"},
      {"{type_name=decimal;precision=2}", "no \"scale\""},
      {"{type_name=struct;members=[{name=a;type=int8};{name=a;type=int8}]}", "two members"},
      {"{type_name=struct;members=[{name=\"\";type=int8}]}", "1..256"},
      {"{type_name=struct;elements=[]}", "has no \"members\""},
      {"{type_name=struct;members=[{name=a;type=int9}]}", "member \"a\""},
      {"{type_name=variant;members=[];elements=[]}", "neither or both"},
      {"{type_name=variant;members=[]}", "no alternatives"},
      {"{type_name=tagged;item=int8}", "no \"tag\""},
      {"{type_name=dict;key=int8}", "has no \"value\""}};
  for (const auto& [text, why] : cases) {
    const auto parsed = parse_type_text(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message().find(why), std::string::npos)
        << text << ": " << parsed.error().message();
  }
}

TEST(LogicalType, DepthAndSizeAreLimited) {
  const auto nested = [](std::size_t depth) {
    std::string text = "int8";
    for (std::size_t i = 1; i < depth; ++i) text = "{type_name=list;item=" + text + "}";
    return text;
  };
  EXPECT_TRUE(parse_type_text(nested(kTypeDepthMax)));
  EXPECT_FALSE(parse_type_text(nested(kTypeDepthMax + 1)));
  const auto wide = [](std::size_t elements) {
    std::string text = "{type_name=tuple;elements=[";
    for (std::size_t i = 0; i < elements; ++i) text += "{type=int8};";
    return text + "]}";
  };
  EXPECT_TRUE(parse_type_text(wide(kTypeNodesMax - 1)));
  EXPECT_FALSE(parse_type_text(wide(kTypeNodesMax)));
  EXPECT_FALSE(parse_type_text(std::string(kTypeBytesMax, ' ') + "int8"));
}

TEST(LogicalType, WiderTypesHoldAllValues) {
  const std::pair<std::string_view, std::string_view> wider[] = {
      {"int8", "int64"},
      {"int8", "{type_name=optional;item=int16}"},
      {"utf8", "{type_name=tagged;tag=t;item=string}"},
      {"{type_name=list;item=int8}", "{type_name=list;item={type_name=optional;item=int8}}"},
      {"{type_name=struct;members=[{name=a;type=int8}]}",
       "{type_name=struct;members=[{name=a;type=int16};{name=b;type={type_name=optional;item=utf8}}"
       "]}"},
      {"{type_name=variant;elements=[{type=int8}]}",
       "{type_name=variant;elements=[{type=int8};{type=utf8}]}"}};
  for (const auto& [narrow, wide] : wider) {
    EXPECT_TRUE(is_wider(type(narrow), type(wide))) << narrow << " -> " << wide;
    EXPECT_FALSE(is_wider(type(wide), type(narrow))) << wide << " -> " << narrow;
  }
  const std::pair<std::string_view, std::string_view> others[] = {
      {"int8", "uint8"},
      {"{type_name=list;item=int8}", "{type_name=tuple;elements=[{type=int8}]}"},
      {"{type_name=tuple;elements=[{type=int8}]}",
       "{type_name=tuple;elements=[{type=int8};{type=int8}]}"},
      {"{type_name=struct;members=[{name=a;type=int8}]}",
       "{type_name=struct;members=[{name=a;type=int8};{name=b;type=utf8}]}"},
      {"{type_name=struct;members=[{name=a;type=int8}]}",
       "{type_name=struct;members=[{name=b;type=int8}]}"},
      {"{type_name=optional;item=int8}",
       "{type_name=optional;item={type_name=optional;item=int8}}"},
      {"{type_name=decimal;precision=3;scale=2}", "{type_name=decimal;precision=4;scale=2}"}};
  for (const auto& [from, to] : others) EXPECT_FALSE(is_wider(type(from), type(to))) << from;
}

}  // namespace
}  // namespace moraine::table
