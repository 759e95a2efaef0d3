#include "app/yt_client/yt_error.h"

#include <gtest/gtest.h>

#include "yson/yson.h"

namespace moraine::app {
namespace {

constexpr std::string_view kNested =
    R"({"code":1,"message":"Error resolving","attributes":{"path":"//tmp/x","host":"h","pid":7},)"
    R"("inner_errors":[{"code":500,"message":"Node //tmp has no child with key \"x\"",)"
    R"("attributes":{"retriable":false}}]})";

TEST(YtErrors, AreReadFromJsonAndYson) {
  const auto json = parse_yt_error(kNested);
  ASSERT_TRUE(json) << json.error().message();
  const auto yson =
      parse_yt_error(R"({"code"=1;"message"="Error resolving";"attributes"={"path"="//tmp/x"};)"
                     R"("inner_errors"=[{"code"=500;"message"="has: none";}];})");
  ASSERT_TRUE(yson) << yson.error().message();
  for (const YtError& error : {*json, *yson}) {
    EXPECT_EQ(error.code, 1);
    EXPECT_EQ(error.message, "Error resolving");
    ASSERT_EQ(error.inner.size(), 1u);
    EXPECT_TRUE(error.has_code({7, 500})) << "codes are searched among the causes";
    EXPECT_FALSE(error.has_code({501}));
  }
  EXPECT_NE(json->attribute("retriable"), nullptr);
  EXPECT_EQ(json->attribute("nothing"), nullptr);
}

TEST(YtErrors, AreDescribedWithCodesAndCausesButWithoutTheServersThreads) {
  const auto error = parse_yt_error(kNested);
  ASSERT_TRUE(error);
  EXPECT_EQ(describe(*error),
            "Error resolving\n  (path: //tmp/x)\n  because: Node //tmp has no child with key "
            "\"x\"\n    (code 500, retriable: %false)");
}

TEST(YtErrors, OtherDocumentsAreNone) {
  EXPECT_FALSE(parse_yt_error("<html>"));
  EXPECT_FALSE(parse_yt_error("{}"));
  EXPECT_FALSE(parse_yt_error("[1,2]"));
  EXPECT_FALSE(parse_yt_error(""));
}

TEST(YtErrors, EndlessCausesAreCut) {
  YsonNode node("deepest");
  for (int i = 0; i < 100; ++i) {
    YsonMap map;
    map["code"] = YsonNode(i);
    map["inner_errors"] = YsonNode(YsonList{node});
    node = YsonNode(std::move(map));
  }
  const YtError error = yt_error_of(node);
  std::size_t depth = 0;
  for (const YtError* at = &error; !at->inner.empty(); at = &at->inner[0]) ++depth;
  EXPECT_EQ(depth, kYtErrorDepthMax);
}

TEST(YtErrors, OfThisProcessKeepTheirKind) {
  const YtError error = local_error({Errc::kTimeout, "no answer in time"});
  EXPECT_EQ(error.kind, Errc::kTimeout);
  EXPECT_EQ(describe(error), "no answer in time");
}

}  // namespace
}  // namespace moraine::app
