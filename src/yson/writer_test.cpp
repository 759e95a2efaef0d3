#include "yson/writer.h"

#include <gtest/gtest.h>

#include "yson/reader.h"

namespace moraine {
namespace {

using namespace std::string_view_literals;

std::string written(std::string_view input, YsonFormat format,
                    YsonDocument document = YsonDocument::kNode) {
  std::string out;
  YsonReader reader(document);
  YsonWriter writer(out, format, document);
  const auto converted = convert(input, reader, writer);
  return converted ? out : converted.error().context;
}

constexpr std::string_view kRow = R"({a=10;b=%false;c="hello";d=32u;})";

TEST(YsonWriter, ARowOfTextIsALine) {
  EXPECT_EQ(written(kRow, YsonFormat::kText, YsonDocument::kListFragment),
            "{\"a\"=10;\"b\"=%false;\"c\"=\"hello\";\"d\"=32u;};\n");
  EXPECT_EQ(written(kRow, YsonFormat::kText), R"({"a"=10;"b"=%false;"c"="hello";"d"=32u;})");
  EXPECT_EQ(written("a=1;b=[]", YsonFormat::kText, YsonDocument::kMapFragment),
            "\"a\"=1;\n\"b\"=[];\n");
}

TEST(YsonWriter, TextHasASemicolonAfterEveryItem) {
  EXPECT_EQ(written("<x=1>[#;-5;<y=<z=2>3>1.5;{}]", YsonFormat::kText),
            R"(<"x"=1;>[#;-5;<"y"=<"z"=2;>3;>1.5;{};])");
  EXPECT_EQ(written("<>[]", YsonFormat::kText), "<>[]");
}

TEST(YsonWriter, PrettyIsAnItemALine) {
  EXPECT_EQ(written("{a=[1];b={}}", YsonFormat::kPretty),
            "{\n    \"a\" = [\n        1;\n    ];\n    \"b\" = {};\n}");
  EXPECT_EQ(
      written("<x=1;y=[]>{a=<z=2>#}", YsonFormat::kPretty),
      "<\n    \"x\" = 1;\n    \"y\" = [];\n> {\n    \"a\" = <\n        \"z\" = 2;\n    > #;\n}");
  EXPECT_EQ(written("[<x=1>2;3]", YsonFormat::kPretty),
            "[\n    <\n        \"x\" = 1;\n    > 2;\n    3;\n]");
  EXPECT_EQ(written("{a=1};2", YsonFormat::kPretty, YsonDocument::kListFragment),
            "{\n    \"a\" = 1;\n};\n2;\n");
  EXPECT_EQ(written("1", YsonFormat::kPretty), "1");
}

TEST(YsonWriter, BinaryIsAsTheFormatSays) {
  EXPECT_EQ(written("k", YsonFormat::kBinary), "\x01\x02k"sv);
  EXPECT_EQ(written("1", YsonFormat::kBinary), "\x02\x02"sv);
  EXPECT_EQ(written("-1", YsonFormat::kBinary), "\x02\x01"sv);
  EXPECT_EQ(written("300", YsonFormat::kBinary), "\x02\xd8\x04"sv);
  EXPECT_EQ(written("5u", YsonFormat::kBinary), "\x06\x05"sv);
  EXPECT_EQ(written("1.5", YsonFormat::kBinary), "\x03\0\0\0\0\0\0\xf8\x3f"sv);
  EXPECT_EQ(written("[%false;%true]", YsonFormat::kBinary), "[\x04;\x05;]"sv);
  EXPECT_EQ(written("{k=1};#", YsonFormat::kBinary, YsonDocument::kListFragment),
            "{\x01\x02k=\x02\x02;};#;"sv);
}

TEST(YsonWriter, TakesNodesThatAreYsonAlready) {
  std::string out;
  YsonWriter writer(out, YsonFormat::kText, YsonDocument::kListFragment);
  writer.on(YsonEvent::of(YsonEvent::Kind::kBeginMap));
  writer.on(YsonEvent::key("k"));
  writer.raw("<a=1>[2]");
  writer.on(YsonEvent::of(YsonEvent::Kind::kEndMap));
  EXPECT_EQ(out, "{\"k\"=<a=1>[2];};\n");
}

TEST(YsonWriter, OutputMayBeDrainedBetweenEvents) {
  std::string out;
  std::string sent;
  YsonWriter writer(out, YsonFormat::kPretty, YsonDocument::kListFragment);
  YsonReader reader(YsonDocument::kListFragment);
  reader.feed("[1;{a=2}];3");
  reader.finish();
  YsonEvent event;
  while (reader.next(event) == YsonStep::kEvent) {
    writer.on(event);
    sent += out;
    out.clear();
  }
  EXPECT_EQ(sent, written("[1;{a=2}];3", YsonFormat::kPretty, YsonDocument::kListFragment));
}

}  // namespace
}  // namespace moraine
