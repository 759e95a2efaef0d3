#include "yson/yson.h"

#include <gtest/gtest.h>

#include <string>

#include "yson/reader.h"

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
  EXPECT_EQ(as_text(R"("\x41\102\n\t\"\\\377")"), R"("AB\n\t\"\\\xFF")");
  EXPECT_EQ(as_text("[]"), "[]");
  EXPECT_EQ(as_text("{}"), "{}");
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

TEST(Yson, FragmentsHaveNoBrackets) {
  const auto list = parse_yson("{a=1};{a=2};\n", YsonDocument::kListFragment);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->as<YsonList>()->size(), 2U);
  const auto map = parse_yson("a=1;b=2", YsonDocument::kMapFragment);
  ASSERT_TRUE(map);
  EXPECT_EQ(*map->find("b")->as<std::int64_t>(), 2);
  EXPECT_TRUE(parse_yson("", YsonDocument::kListFragment));
  EXPECT_FALSE(parse_yson("1];", YsonDocument::kListFragment));
}

TEST(Yson, EqualKeysOfAMapAreRefused) {
  std::string many = "{";
  for (int at = 0; at < 100; ++at) many += "k" + std::to_string(at) + "=1;";
  for (const std::string& input : {std::string("{a=1;b=2;a=3}"), many + "k57=2}"}) {
    const auto node = parse_yson(input);
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, Errc::kInvalidArgument);
    EXPECT_NE(node.error().context.find("twice"), std::string::npos);
    EXPECT_TRUE(check_yson(input));
  }
  EXPECT_TRUE(parse_yson(many + "}"));
  EXPECT_FALSE(parse_yson("a=1;a=2", YsonDocument::kMapFragment));
}

TEST(Yson, TheLastOfEqualAttributesCounts) {
  const auto node = parse_yson("<a=1;b=2;a=3>#");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(node->attributes().size(), 2U);
  EXPECT_EQ(*node->attributes().find("a"), YsonNode(3));
}

TEST(Yson, TreesAreBounded) {
  YsonTreeBuilder builder(YsonDocument::kNode, 100'000);
  YsonReader reader;
  std::string input = "[";
  for (int at = 0; at < 10'000; ++at) input += "#;";
  const auto converted = convert(input + "]", reader, builder);
  ASSERT_FALSE(converted);
  EXPECT_NE(converted.error().context.find("more than 100000 bytes"), std::string::npos);
}

TEST(Yson, StoredNodesAreTakenIntoDocumentsOfOtherFormats) {
  std::string out;
  YsonWriter writer(out, YsonFormat::kText, YsonDocument::kListFragment);
  writer.on(YsonEvent::of(YsonEvent::Kind::kBeginMap));
  writer.on(YsonEvent::key("any"));
  EXPECT_TRUE(emit_yson("<a=1>[\x02\x04;#]", writer));
  writer.on(YsonEvent::of(YsonEvent::Kind::kEndMap));
  EXPECT_EQ(out, "{\"any\"=<\"a\"=1;>[2;#;];};\n");
  EXPECT_FALSE(emit_yson("[", writer));
}

TEST(Yson, ABuilderTakesOneTreeAfterAnother) {
  YsonTreeBuilder builder;
  YsonReader reader(YsonDocument::kListFragment);
  reader.feed("{a=1};<b=2>3;[]");
  reader.finish();
  std::string rows;
  YsonEvent event;
  while (reader.next(event) == YsonStep::kEvent) {
    ASSERT_TRUE(builder.on(event));
    if (builder.complete()) rows += write_yson(builder.take(), YsonFormat::kText) + "\n";
  }
  EXPECT_EQ(rows, "{\"a\"=1;}\n<\"b\"=2;>3\n[]\n");
}

}  // namespace
}  // namespace moraine
