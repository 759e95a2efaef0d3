#include "gateway/yt/parameters.h"

#include <gtest/gtest.h>

#include "yson/yson.h"

namespace moraine::yt {
namespace {

std::string text_of(const YsonNode& node) {
  return write_yson(node, YsonFormat::kText);
}

std::string query(std::vector<std::pair<std::string, std::string>> pairs) {
  const auto read = query_parameters(pairs);
  return read ? text_of(*read) : "error: " + read.error().message;
}

Parameters parameters(std::string_view yson) {
  const auto parsed = parse_yson(yson);
  EXPECT_TRUE(parsed);
  return Parameters(*parsed->as<YsonMap>());
}

TEST(QueryParameters, AreNestedByBrackets) {
  EXPECT_EQ(query({{"path", "//t"}, {"n", "-5"}, {"a[b][0]", "x"}, {"a[b][2]", "1"}}),
            R"({"path"="//t";"n"=-5;"a"={"b"=["x";#;1;];};})");
  EXPECT_EQ(query({{"f[$value]", "yson"}, {"f[$attributes][format]", "text"}}),
            R"({"f"=<"format"="text";>"yson";})");
  EXPECT_EQ(query({{"big", "99999999999999999999"}}), R"({"big"="99999999999999999999";})");
}

TEST(QueryParameters, AreBounded) {
  EXPECT_NE(query({{"a[1][2][3][4][5][6]", "x"}}).find("nested too deeply"), std::string::npos);
  EXPECT_NE(query({{"a[1025]", "x"}}).find("too large"), std::string::npos);
  EXPECT_NE(query({{"a[b", "x"}}).find("brackets"), std::string::npos);
  EXPECT_NE(query({{"f[$attributes][x]", "1"}}).find("$value"), std::string::npos);
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 100; ++i) many.emplace_back("a" + std::to_string(i) + "[1000]", "x");
  EXPECT_NE(query(many).find("too many values"), std::string::npos);
}

TEST(ParameterMaps, AreMergedDeeply) {
  Parameters merged = parameters("{a={x=1;y=2};b=1}");
  merged.merge(*parse_yson("{a={y=3};b={z=4}}")->as<YsonMap>());
  EXPECT_EQ(text_of(merged.map()), R"({"a"={"x"=1;"y"=3;};"b"={"z"=4;};})");
}

TEST(ParameterValues, HaveTheSpellingsOfClients) {
  const Parameters given = parameters(
      R"({t="true";z=0;n="12";u=7u;s="30s";ms=250;id="1-2-3-4";null="0-0-0-0";bad=[];e=#})");
  EXPECT_TRUE(*given.boolean("t", false));
  EXPECT_FALSE(*given.boolean("z", true));
  EXPECT_TRUE(*given.boolean("none", true));
  EXPECT_FALSE(given.boolean("bad", true));
  EXPECT_EQ(*given.integer("n"), 12);
  EXPECT_EQ(*given.count("u"), 7u);
  EXPECT_EQ(*given.duration("s"), std::chrono::seconds(30));
  EXPECT_EQ(*given.duration("ms"), std::chrono::milliseconds(250));
  EXPECT_TRUE(*given.id("id"));
  EXPECT_EQ(*given.id("null"), std::nullopt);
  EXPECT_FALSE(given.text("none"));
  EXPECT_FALSE(given.text("e"));
  EXPECT_FALSE(given.texts("t"));
  EXPECT_FALSE(parameters("{d=\"9999999999999999d\"}").duration("d"));
}

TEST(LongFields, ArePartsInBase64OrOneAsItIs) {
  http::Fields fields;
  fields.add("X-Long-0", "aGVs");
  fields.add("X-Long-1", "bG8=");
  fields.add("X-Plain", "text");
  EXPECT_EQ(**long_field(fields, "X-Long"), "hello");
  EXPECT_EQ(**long_field(fields, "X-Plain"), "text");
  EXPECT_EQ(*long_field(fields, "X-None"), std::nullopt);
  fields.add("X-Bad0", "a!b");
  EXPECT_FALSE(long_field(fields, "X-Bad"));
}

}  // namespace
}  // namespace moraine::yt
