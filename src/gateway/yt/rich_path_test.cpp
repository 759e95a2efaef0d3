#include "gateway/yt/rich_path.h"

#include <gtest/gtest.h>

#include "yson/yson.h"

namespace moraine::yt {
namespace {

// The path with its ranges as attributes, or the error.
std::string parsed(std::string_view text) {
  const auto path = parse_rich_path(YsonNode(text));
  return path ? write_yson(to_yson(*path), YsonFormat::kText) : path.error().message;
}
std::string of_yson(std::string_view yson) {
  const auto node = parse_yson(yson);
  EXPECT_TRUE(node) << yson;
  const auto path = parse_rich_path(*node);
  return path ? write_yson(to_yson(*path), YsonFormat::kText) : path.error().message;
}

TEST(RichPaths, APathAlone) {
  EXPECT_EQ(parsed("//tmp/t"), R"("//tmp/t")");
  EXPECT_EQ(parsed("  //tmp/t"), R"("//tmp/t")");
  EXPECT_EQ(parsed("#1-2-3-4/@x"), R"("#1-2-3-4/@x")");
  EXPECT_EQ(parsed(R"(//tmp/a\[b)"), R"("//tmp/a\\[b")") << "an escaped bracket";
}

TEST(RichPaths, AttributesColumnsAndRanges) {
  EXPECT_EQ(
      parsed("<append=%true>//t[1:5]"),
      R"(<"append"=%true;"ranges"=[{"lower_limit"={"key"=[1;];};"upper_limit"={"key"=[5;];};};];>"//t")");
  EXPECT_EQ(parsed(R"(//t{a,"b c"}[#5:#10])"),
            R"(<"columns"=["a";"b c";];"ranges"=[{"lower_limit"={"row_index"=5;};)"
            R"("upper_limit"={"row_index"=10;};};];>"//t")");
  EXPECT_EQ(
      parsed("//t[(1,\"x\"):(2u, %true)]"),
      R"(<"ranges"=[{"lower_limit"={"key"=[1;"x";];};"upper_limit"={"key"=[2u;%true;];};};];>"//t")");
  EXPECT_EQ(
      parsed("//t[:100u,a:]"),
      R"(<"ranges"=[{"upper_limit"={"key"=[100u;];};};{"lower_limit"={"key"=["a";];};};];>"//t")");
  EXPECT_EQ(parsed("//t[:]"), R"(<"ranges"=[{};];>"//t")");
  EXPECT_EQ(parsed("//t{}"), R"(<"columns"=[];>"//t")");
}

TEST(RichPaths, OneLimitIsAllRowsThatBeginWithIt) {
  EXPECT_EQ(
      parsed("//t[5]"),
      R"(<"ranges"=[{"lower_limit"={"key"=[5;];};"upper_limit"={"key_bound"=["<=";[5;];];};};];>"//t")");
  EXPECT_EQ(
      parsed("//t[#5]"),
      R"(<"ranges"=[{"lower_limit"={"row_index"=5;};"upper_limit"={"row_index"=6;};};];>"//t")");
  EXPECT_EQ(of_yson("<ranges=[{exact={key=[5]}}]>\"//t\""), parsed("//t[5]"));
}

TEST(RichPaths, LimitsAsAttributes) {
  EXPECT_EQ(
      of_yson("<columns=[k];ranges=[{lower_limit={key=[1]};upper_limit={key=[5]}}]>\"#1-2-3-4\""),
      R"(<"columns"=["k";];"ranges"=[{"lower_limit"={"key"=[1;];};"upper_limit"={"key"=[5;];};};];>"#1-2-3-4")");
  EXPECT_EQ(of_yson("<ranges=[{lower_limit={key_bound=[\">\";[1]]}}]>\"//t\""),
            R"(<"ranges"=[{"lower_limit"={"key_bound"=[">";[1;];];};};];>"//t")");
}

TEST(RichPaths, WhatIsWrong) {
  for (const char* text :
       {"", "<a=1", "<><", "<a=1><b=2>//t", "<a>//t", "//t[", "//t[1", "//t[1:", "//t{a",
        "//t{a b}", "//t[1:2]x", "//t[(1]", "//t[,]", "//t[\"a]", "//t{1}"}) {
    EXPECT_TRUE(parsed(text).starts_with("Error parsing YPath")) << text << " " << parsed(text);
  }
  EXPECT_TRUE(of_yson("5").starts_with("Error parsing YPath"));
  EXPECT_TRUE(of_yson("<ranges=5>\"//t\"").starts_with("Error parsing YPath"));
  EXPECT_TRUE(
      of_yson("<ranges=[{upper_limit={key_bound=[\">\";[1]]}}]>\"//t\"").starts_with("Error"));
}

}  // namespace
}  // namespace moraine::yt
