#include "yson/json_reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "yson/events_harness.h"

namespace moraine {
namespace {

using namespace std::string_view_literals;

// The same for every way to cut the input, or a note that they differ.
std::string events(std::string_view input, const JsonOptions& options = {},
                   YsonDocument document = YsonDocument::kNode) {
  JsonReader whole(options, document);
  std::string drawn = draw_events(whole, input);
  const auto until_error = [](const std::string& text) {
    return text.substr(0, text.find(" error:"));
  };
  for (const std::size_t piece : {1, 2, 3, 7}) {
    JsonReader reader(options, document);
    const std::string other = draw_events(reader, input, piece);
    const bool failed = other.find(" error:") != std::string::npos;
    if (until_error(other) != until_error(drawn) || failed != (drawn != until_error(drawn))) {
      return fmt::format("{} | in pieces of {}: {}", drawn, piece, other);
    }
  }
  return drawn;
}

std::string rows(std::string_view input, const JsonOptions& options = {}) {
  return events(input, options, YsonDocument::kListFragment);
}

bool refused(std::string_view input, std::string_view why, const JsonOptions& options = {}) {
  const std::string drawn = events(input, options);
  if (drawn.find(" error: json: ") != std::string::npos && drawn.find(why) != std::string::npos) {
    return true;
  }
  ADD_FAILURE() << input << " -> " << drawn;
  return false;
}

TEST(JsonReader, ReadsScalarsListsAndMaps) {
  EXPECT_EQ(events(" null "), "#");
  EXPECT_EQ(events("[true,false,-5,0,1.5,1e3,-0.5E-1]"), "[ true false -5 0 1.5 1000. -0.05 ]");
  EXPECT_EQ(events("[9223372036854775807,9223372036854775808,18446744073709551615]"),
            "[ 9223372036854775807 9223372036854775808u 18446744073709551615u ]");
  EXPECT_EQ(events(R"({"a":{"b":[]},"c":{}})"), "{ a= { b= [ ] } c= { } }");
  EXPECT_EQ(events(R"("text")"), "'text'");
  EXPECT_EQ(events("12"), "12");
}

TEST(JsonReader, RowsNeedNothingBetweenThem) {
  EXPECT_EQ(rows("{\"a\":1}\n{\"a\":2}\n"), "{ a= 1 } { a= 2 }");
  EXPECT_EQ(rows("{\"a\":1}{\"a\":2} null\n[]"), "{ a= 1 } { a= 2 } # [ ]");
  EXPECT_EQ(rows("1 2\n3"), "1 2 3");
  EXPECT_EQ(rows(""), "");
  EXPECT_EQ(rows(" \n"), "");
  EXPECT_NE(rows("{},{}").find("error"), std::string::npos);
}

TEST(JsonReader, StringsAreBytesOrUtf8) {
  const JsonOptions utf8{.encode_utf8 = false};
  EXPECT_EQ(events(R"("\"\\\/\b\f\n\r\tA\u0041")"), "'\"\\/\b\f\n\r\tAA'");
  EXPECT_EQ(events("\"\xc3\x90\xc2\xba\""), "'\xd0\xba'");
  EXPECT_EQ(events(R"("\u00d0\u00ba\u0000")"), "'\xd0\xba\0'"sv);
  EXPECT_EQ(events("\"\xd0\xba\"", utf8), "'\xd0\xba'");
  EXPECT_EQ(events(R"("\u043a\ud83d\ude00")", utf8), "'\xd0\xba\xf0\x9f\x98\x80'");
  refused("\"\xd0\xba\"", "above U+00FF");
  refused(R"("\u043a")", "above U+00FF");
  refused("\"\xe2\x82\xac\"", "above U+00FF");
  for (const std::string_view input : {"\"\xff\""sv, "\"\xc3\""sv, "\"\xc0\x80\""sv}) {
    refused(input, "not UTF-8");
    refused(input, "not UTF-8", utf8);
  }
  refused(R"("\ud83d")", "surrogate", utf8);
  refused(R"("\ude00")", "surrogate", utf8);
  refused(R"("\q")", "escape");
  refused(R"("\u00g0")", "escape");
  refused("\"a\nb\"", "control character");
}

TEST(JsonReader, MapsWithAValueAreUnwrapped) {
  EXPECT_EQ(events(R"({"$value":5,"$attributes":{"a":1}})"), "< a= 1 > 5");
  EXPECT_EQ(
      events(R"({"$attributes":{"a":{"$value":[1],"$attributes":{"b":2}}},"$value":{"c":3}})"),
      "< a= < b= 2 > [ 1 ] > { c= 3 }");
  EXPECT_EQ(events(R"({"$value":5,"ignored":[{"x":1}]})"), "5");
  EXPECT_EQ(events(R"({"$value":{"$value":null,"$attributes":{}}})"), "< > #");
  EXPECT_EQ(events(R"([{"$incomplete":true,"$value":"cut"},{"a":1}])"), "[ 'cut' { a= 1 } ]");
  refused(R"({"$attributes":{}})", "no $value");
  refused(R"({"$attributes":[],"$value":1})", "not a map");
  refused(R"({"$value":1,"$value":2})", "twice");
  refused(R"({"$attributes":{},"$value":{"$attributes":{},"$value":1}})", "$attributes");
}

TEST(JsonReader, TypesConvertValues) {
  EXPECT_EQ(events(R"({"$type":"int64","$value":"2"})"), "2");
  EXPECT_EQ(events(R"({"$value":"1","$type":"uint64"})"), "1u");
  EXPECT_EQ(events(R"({"$type":"uint64","$value":1})"), "1u");
  EXPECT_EQ(events(R"({"$type":"double","$value":1})"), "1.");
  EXPECT_EQ(events(R"({"$type":"double","$value":"1.5"})"), "1.5");
  EXPECT_EQ(events(R"({"$type":"double","$value":"-inf"})"), "%-inf");
  EXPECT_EQ(events(R"({"$type":"boolean","$value":"true"})"), "true");
  EXPECT_EQ(events(R"({"$type":"string","$value":"x","$attributes":{"a":2}})"), "< a= 2 > 'x'");
  EXPECT_EQ(events(R"({"k":{"$type":"int64","$value":"1"}})"), "{ k= 1 }");
  refused(R"({"$type":"int64","$value":"x"})", "is no int64");
  refused(R"({"$type":"uint64","$value":-1})", "not of its $type");
  refused(R"({"$type":"boolean","$value":1})", "not of its $type");
  refused(R"({"$type":"string","$value":1})", "not of its $type");
  refused(R"({"$type":"int64","$value":null})", "not of its $type");
  refused(R"({"$type":"int64","$value":[]})", "not of its $type");
  refused(R"({"$type":"any","$value":1})", "unknown $type");
  refused(R"({"$type":1,"$value":1})", "not a string");
  refused(R"({"$type":"int64"})", "single '$'");
}

TEST(JsonReader, KeysLoseADollar) {
  EXPECT_EQ(events(R"({"$$value":1,"$$$x":2})"), "{ $value= 1 $$x= 2 }");
  refused(R"({"$other":1})", "single '$'");
  EXPECT_EQ(events(R"({"$other":1,"$value":2})", {.plain = true}), "{ $other= 1 $value= 2 }");
  EXPECT_EQ(events(R"({"$other":1})", {.attributes = JsonOptions::Attributes::kNever}),
            "{ $other= 1 }");
}

TEST(JsonReader, InfinityNeedsAnOption) {
  EXPECT_EQ(events("[inf,-inf]", {.support_infinity = true}), "[ %inf %-inf ]");
  refused("inf", "no value");
  refused("nan", "no value", {.support_infinity = true});
}

TEST(JsonReader, WhatIsNotJsonIsRefused) {
  for (const std::string_view input : {""sv,
                                       " "sv,
                                       "["sv,
                                       "[1"sv,
                                       "[1,]"sv,
                                       "[,1]"sv,
                                       "[1 2]"sv,
                                       "{1:2}"sv,
                                       "{\"a\"}"sv,
                                       "{\"a\":}"sv,
                                       "{\"a\":1,}"sv,
                                       "{\"a\" 1}"sv,
                                       "]"sv,
                                       "[}"sv,
                                       "{\"a\":1]"sv,
                                       "1 2"sv,
                                       "01"sv,
                                       "-"sv,
                                       "+1"sv,
                                       "1."sv,
                                       ".5"sv,
                                       "1e"sv,
                                       "1e+"sv,
                                       "1e999"sv,
                                       "18446744073709551616"sv,
                                       "-9223372036854775809"sv,
                                       "nul"sv,
                                       "nulll"sv,
                                       "True"sv,
                                       "'a'"sv,
                                       "\"open"sv,
                                       "\"\\"sv,
                                       "\0"sv,
                                       "#"sv,
                                       "{\"a\":1}}"sv,
                                       "{\"\":1}"sv}) {
    refused(input, "at byte ");
  }
  JsonReader reader({}, YsonDocument::kMapFragment);
  YsonEvent event;
  EXPECT_EQ(reader.next(event), YsonStep::kError);
}

TEST(JsonReader, NestingAndMemoryAreBounded) {
  for (const std::size_t depth : {kYsonDepthMax, kYsonDepthMax + 1, std::size_t{1'000'000}}) {
    JsonReader reader({});
    const std::string drawn =
        draw_events(reader, std::string(depth, '[') + std::string(depth, ']'));
    EXPECT_EQ(drawn.find("error") != std::string::npos, depth > kYsonDepthMax) << depth;
  }
  const JsonOptions small{.memory_limit = 10'000};
  refused("\"" + std::string(20'000, 'x') + "\"", "more than 10000 bytes", small);
  std::string list = "[1";
  for (int at = 0; at < 1000; ++at) list += ",1";
  refused(list + "]", "more than 10000 bytes", small);
  std::string many;
  for (int at = 0; at < 1000; ++at) many += "{\"key\":\"value\"}\n";
  EXPECT_EQ(rows(many, small).find("error"), std::string::npos);
}

TEST(JsonReader, OneGiantStringInSinglesTakesLinearTime) {
  const std::string input = "\"" + std::string(3'000'000, 'x') + "\"";
  JsonReader reader({});
  YsonEvent event;
  std::size_t size = 0;
  for (const char& c : input) {
    reader.feed({&c, 1});
    if (reader.next(event) == YsonStep::kEvent) {
      size = event.text.size();
      EXPECT_EQ(reader.next(event), YsonStep::kNeedInput);
    }
  }
  reader.finish();
  EXPECT_EQ(size, 3'000'000U);
  EXPECT_EQ(reader.next(event), YsonStep::kEnd);
}

TEST(JsonReader, RowsAreReturnedBeforeTheInputIsWhole) {
  JsonReader reader({}, YsonDocument::kListFragment);
  reader.feed("{\"a\":1}\n{\"a\"");
  YsonEvent event;
  std::string drawn;
  while (reader.next(event) == YsonStep::kEvent) drawn += draw(event);
  EXPECT_EQ(drawn, "{a=1}");
  EXPECT_EQ(reader.depth(), 0U);
}

}  // namespace
}  // namespace moraine
