#include "yson/yson.h"

#include <gtest/gtest.h>

#include <limits>

namespace moraine {
namespace {

using namespace std::string_view_literals;

std::string as_text(std::string_view input) {
  const auto node = parse_yson(input);
  return node ? write_yson(*node, YsonFormat::kText) : node.error().message();
}

TEST(Yson, TextIsReadAndWrittenInOneSpelling) {
  EXPECT_EQ(as_text(" { a = 10 ; b=%false; c=hello; d=32u } "),
            R"({"a"=10;"b"=%false;"c"="hello";"d"=32u;})");
  EXPECT_EQ(as_text("<x=1>[#;-5;+7;1.5;1e3;2.;%true;%nan;%inf;%-inf]"),
            R"(<"x"=1;>[#;-5;7;1.5;1000.;2.;%true;%nan;%inf;%-inf;])");
  EXPECT_EQ(as_text(R"("\x41\102\n\t\"\\\377")"), R"("AB\n\t\"\\\xff")");
  EXPECT_EQ(as_text("[]"), "[]");
  EXPECT_EQ(as_text("{}"), "{}");
}

TEST(Yson, BinaryIsAsTheFormatSays) {
  const auto binary = [](std::string_view input) {
    return write_yson(parse_yson(input).value(), YsonFormat::kBinary);
  };
  EXPECT_EQ(binary("k"), "\x01\x02k"sv);
  EXPECT_EQ(binary("1"), "\x02\x02"sv);
  EXPECT_EQ(binary("-1"), "\x02\x01"sv);
  EXPECT_EQ(binary("300"), "\x02\xd8\x04"sv);
  EXPECT_EQ(binary("5u"), "\x06\x05"sv);
  EXPECT_EQ(binary("[%false;%true]"), "[\x04;\x05;]"sv);
  EXPECT_EQ(binary("{k=1}"), "{\x01\x02k=\x02\x02;}"sv);
}

TEST(Yson, TextAndBinaryMayBeMixed) {
  EXPECT_EQ(as_text("{\x01\x02k=[\x02\x01;7]}"sv), R"({"k"=[-1;7;];})");
}

TEST(Yson, EveryFormatIsReadBackAsTheSameTree) {
  const auto node = parse_yson(
      R"(<a=1;b={c=[]}>{i=-9223372036854775808;u=18446744073709551615u;d=0.1;s="\0\xff";e=#})");
  ASSERT_TRUE(node) << node.error().message();
  for (const YsonFormat format : {YsonFormat::kBinary, YsonFormat::kText, YsonFormat::kPretty}) {
    const auto again = parse_yson(write_yson(*node, format));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, *node);
  }
}

TEST(Yson, PrettyIsIndentedByFour) {
  EXPECT_EQ(write_yson(parse_yson("{a=[1];b={}}").value(), YsonFormat::kPretty),
            "{\n    \"a\" = [\n        1;\n    ];\n    \"b\" = {};\n}");
}

TEST(Yson, FragmentsHaveNoBrackets) {
  const auto list = parse_yson("{a=1};{a=2};\n", YsonDocument::kListFragment);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->as<YsonList>()->size(), 2U);
  const auto map = parse_yson("a=1;b=2", YsonDocument::kMapFragment);
  ASSERT_TRUE(map);
  EXPECT_EQ(*find(*map->as<YsonMap>(), "b")->as<std::int64_t>(), 2);
  EXPECT_TRUE(parse_yson("", YsonDocument::kListFragment));
  EXPECT_FALSE(parse_yson("1];", YsonDocument::kListFragment));
}

TEST(Yson, WhatIsNotYsonIsRefused) {
  for (const std::string_view input : {""sv,
                                       "  "sv,
                                       "[1"sv,
                                       "[1 2]"sv,
                                       "{a}"sv,
                                       "{=1}"sv,
                                       "{\"\"=1}"sv,
                                       "{1=1}"sv,
                                       "1 2"sv,
                                       "\"open"sv,
                                       "\"\\q\""sv,
                                       "\"\\x\""sv,
                                       "%maybe"sv,
                                       "9223372036854775808"sv,
                                       "-1u"sv,
                                       "1.5u"sv,
                                       "--1"sv,
                                       "+-+1"sv,
                                       "\x01\x03"sv,
                                       "\x01\x08zz"sv,
                                       "\x02\xff"sv,
                                       "\x03"
                                       "1234"sv,
                                       "<a=1>"sv,
                                       "]"sv,
                                       "\0"sv,
                                       "1\0"sv,
                                       "[;]"sv,
                                       "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv}) {
    EXPECT_FALSE(parse_yson(input)) << input;
    EXPECT_FALSE(check_yson(input)) << input;
  }
}

TEST(Yson, NestingIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(check_yson(nested(kYsonDepthMax)));
  EXPECT_FALSE(check_yson(nested(kYsonDepthMax + 1)));
  EXPECT_FALSE(check_yson(nested(1'000'000)));
}

}  // namespace
}  // namespace moraine
