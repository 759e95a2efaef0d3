#include "yson/format.h"

#include <gtest/gtest.h>

#include "yson/json_reader.h"
#include "yson/yson.h"

namespace moraine {
namespace {

std::string refusal(std::string_view yson) {
  const auto format = parse_format(yson);
  return format ? "accepted" : format.error().message();
}

// Rows in one format, converted to another.
std::string converted(std::string_view input, std::string_view from, std::string_view to,
                      YsonDocument document = YsonDocument::kListFragment) {
  std::string out;
  const auto source = make_source(parse_format(from).value(), document);
  const auto sink = make_sink(out, parse_format(to).value(), document);
  if (!source) return source.error().context;
  if (!sink) return sink.error().context;
  const auto done = convert(input, **source, **sink);
  return done ? out : done.error().context;
}

TEST(DataFormat, NamesHaveDefaults) {
  const auto yson = parse_format("yson");
  ASSERT_TRUE(yson);
  EXPECT_EQ(yson->as<YsonOptions>()->format, YsonFormat::kBinary);
  EXPECT_TRUE(yson->conversion.integral);
  EXPECT_FALSE(yson->conversion.string_to_all);
  EXPECT_TRUE(yson->conversion.null_to_entity);
  const auto json = parse_format("json");
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->as<JsonOptions>()->encode_utf8);
  EXPECT_FALSE(json->as<JsonOptions>()->string_length_limit);
  EXPECT_NE(parse_format("dsv").value().as<DsvOptions>(), nullptr);
  EXPECT_NE(parse_format("schemaful_dsv").value().as<SchemafulDsvOptions>(), nullptr);
}

TEST(DataFormat, OptionsAreAttributes) {
  const auto yson = parse_format(
      R"(<"ignore_inner_attributes"=%false;"format"="text";"sort_keys"=%false;>"yson")");
  ASSERT_TRUE(yson) << yson.error().message();
  EXPECT_EQ(yson->as<YsonOptions>()->format, YsonFormat::kText);
  const auto json = parse_format(
      "<format=pretty;attributes_mode=never;plain=%true;encode_utf8=%false;stringify=%true;"
      "annotate_with_types=%true;support_infinity=%true;string_length_limit=5;memory_limit=7u>"
      "json");
  ASSERT_TRUE(json) << json.error().message();
  const JsonOptions& options = *json->as<JsonOptions>();
  EXPECT_TRUE(options.pretty && options.plain && options.stringify && options.support_infinity);
  EXPECT_TRUE(options.annotate_with_types && !options.encode_utf8);
  EXPECT_EQ(options.attributes, JsonOptions::Attributes::kNever);
  EXPECT_EQ(options.string_length_limit, 5U);
  EXPECT_EQ(options.memory_limit, 7U);
  const auto dsv = parse_format(
      R"(<record_separator=",";field_separator="|";key_value_separator=":";line_prefix=p;)"
      R"(enable_escaping=%false;escaping_symbol="^";skip_unsupported_types=%true>dsv)");
  ASSERT_TRUE(dsv) << dsv.error().message();
  EXPECT_EQ(dsv->as<DsvOptions>()->record_separator, ',');
  EXPECT_EQ(dsv->as<DsvOptions>()->line_prefix, "p");
  const auto schemaful = parse_format(
      "<columns=[a;b];missing_value_mode=print_sentinel;missing_value_sentinel=NULL;"
      "enable_column_names_header=%true>schemaful_dsv");
  ASSERT_TRUE(schemaful) << schemaful.error().message();
  EXPECT_EQ(schemaful->as<SchemafulDsvOptions>()->columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(schemaful->as<SchemafulDsvOptions>()->sentinel, "NULL");
}

// As the JavaScript client sends it.
TEST(DataFormat, BooleansMayBeStringsAndTheFormatJson) {
  JsonReader reader({});
  YsonTreeBuilder builder;
  ASSERT_TRUE(convert(R"({"$value":"json","$attributes":{"string_length_limit":1024,)"
                      R"("encode_utf8":"true","stringify":"true","annotate_with_types":1}})",
                      reader, builder));
  const auto format = format_of(builder.take());
  ASSERT_TRUE(format) << format.error().message();
  EXPECT_TRUE(format->as<JsonOptions>()->stringify);
  EXPECT_TRUE(format->as<JsonOptions>()->annotate_with_types);
  EXPECT_EQ(format->as<JsonOptions>()->string_length_limit, 1024U);
}

TEST(DataFormat, AnyFormatSaysHowRowsAreConverted) {
  const auto strict = parse_format(
      "<enable_integral_type_conversion=%false;enable_null_to_yson_entity_conversion=%false>yson");
  ASSERT_TRUE(strict);
  EXPECT_FALSE(strict->conversion.integral);
  EXPECT_FALSE(strict->conversion.null_to_entity);
  const auto all = parse_format("<enable_type_conversion=%true>json");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->conversion.integral_to_double);
  EXPECT_TRUE(all->conversion.string_to_all && all->conversion.all_to_string);
}

TEST(DataFormat, UnknownNamesAndWrongOptionsAreRefused) {
  EXPECT_EQ(refusal("abcdef"), "invalid argument: Invalid format name \"abcdef\"");
  for (const std::string_view name :
       {"yamr", "yamred_dsv", "web_json", "arrow", "protobuf", "yaml"}) {
    EXPECT_EQ(parse_format(name).error().code, Errc::kUnsupported) << name;
  }
  for (const std::string_view yson :
       {"5", "#", "[", "<format=xml>yson", "<format=5>yson", "<format=binary>json",
        "<plain=maybe>json", "<plain=2>json", "<string_length_limit=-1>json",
        "<attributes_mode=some>json",
        "<support_infinity=%true;stringify_nan_and_infinity=%true>json",
        "<record_separator=\"ab\">dsv", "<record_separator=5>dsv", "<line_prefix=5>dsv",
        "<columns=5>schemaful_dsv", "<columns=[5]>schemaful_dsv", "<columns=[a;a]>schemaful_dsv",
        "<missing_value_mode=x>schemaful_dsv"}) {
    const auto format = parse_format(yson);
    ASSERT_FALSE(format) << yson;
    EXPECT_EQ(format.error().code, Errc::kInvalidArgument) << yson;
  }
}

TEST(DataFormat, MimeTypesNameFormats) {
  for (const std::string_view mime :
       {"application/json", "application/x-yt-yson-binary", "application/x-yt-yson-text",
        "application/x-yt-yson-pretty", "text/csv", "text/tab-separated-values", "text/x-tskv"}) {
    const auto format = format_of_mime(mime);
    ASSERT_TRUE(format && *format) << mime;
    EXPECT_EQ(mime_of(**format), mime);
  }
  for (const std::string_view mime :
       {"", "*/*", "application/octet-stream", "application/json, text/plain, */*"}) {
    const auto format = format_of_mime(mime);
    ASSERT_TRUE(format) << mime;
    EXPECT_FALSE(*format) << mime;
  }
  EXPECT_TRUE(format_of_mime(" application/json ").value());
  EXPECT_EQ(format_of_mime("application/x-yamr-lenval").error().code, Errc::kUnsupported);
  EXPECT_EQ(mime_of(parse_format("schemaful_dsv").value()), "text/tab-separated-values");
}

TEST(DataFormat, DefaultsGoByTheTypeOfData) {
  EXPECT_EQ(mime_of(default_format(DataType::kStructured)), "application/json");
  EXPECT_EQ(mime_of(default_format(DataType::kTabular)), "application/x-yt-yson-text");
  EXPECT_EQ(mime_of(default_format(DataType::kBinary)), "application/x-yt-yson-binary");
  EXPECT_EQ(mime_of(default_format(DataType::kNull)), "application/x-yt-yson-binary");
}

TEST(DataFormat, AnyFormatConvertsToAnyOther) {
  EXPECT_EQ(converted("{a=1;b=\"\\xd0\\xba\"};", "yson", "json"),
            "{\"a\":1,\"b\":\"\xc3\x90\xc2\xba\"}\n");
  EXPECT_EQ(
      converted("{\"a\":{\"$type\":\"uint64\",\"$value\":\"5\"}}", "json", "<format=text>yson"),
      "{\"a\"=5u;};\n");
  EXPECT_EQ(converted("a=1\tb=2\n", "dsv", "json"), "{\"a\":\"1\",\"b\":\"2\"}\n");
  EXPECT_EQ(converted("{\"b\":2,\"a\":1}", "json", "<columns=[a;b]>schemaful_dsv"), "1\t2\n");
  EXPECT_EQ(converted("1\t2\n", "<columns=[a;b]>schemaful_dsv", "dsv"), "a=1\tb=2\n");
}

TEST(DataFormat, SomeFormatsAreForRowsOnly) {
  EXPECT_EQ(converted("", "dsv", "yson", YsonDocument::kNode),
            "the formats dsv, schemaful_dsv and skiff are for rows only");
  EXPECT_EQ(converted("", "yson", "dsv", YsonDocument::kNode),
            "the formats dsv, schemaful_dsv and skiff are for rows only");
  EXPECT_EQ(converted("", "json", "yson", YsonDocument::kMapFragment),
            "the format json has no map fragments");
  EXPECT_EQ(converted("", "yson", "json", YsonDocument::kMapFragment),
            "the format json has no map fragments");
  EXPECT_EQ(converted("[1]", "yson", "json", YsonDocument::kNode), "[1]");
}

}  // namespace
}  // namespace moraine
