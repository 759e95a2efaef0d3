#include "gateway/http/url.h"

#include <gtest/gtest.h>

namespace moraine::http {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

TEST(Url, PathAndQueryAreDecoded) {
  const auto target = parse_target("/api/v4/get%20it?path=//tmp%2Fx&a+b=1%2B2&flag&empty=&&=v");
  ASSERT_TRUE(target) << target.error().message();
  EXPECT_EQ(target->path, "/api/v4/get it");
  const Query expected{{"path", "//tmp/x"}, {"a b", "1+2"}, {"flag", ""}, {"empty", ""}, {"", "v"}};
  EXPECT_EQ(target->query, expected);
  ASSERT_NE(target->parameter("path"), nullptr);
  EXPECT_EQ(*target->parameter("path"), "//tmp/x");
  EXPECT_EQ(target->parameter("nothing"), nullptr);
}

TEST(Url, APlusInThePathIsAPlus) {
  EXPECT_EQ(parse_target("/a+b")->path, "/a+b");
}

TEST(Url, TheAbsoluteFormNamesTheSamePath) {
  EXPECT_EQ(parse_target("http://localhost:80/a?b=c")->path, "/a");
  EXPECT_EQ(parse_target("http://localhost")->path, "/");
  const auto query = parse_target("http://localhost?b=c");
  ASSERT_TRUE(query);
  EXPECT_EQ(query->path, "/");
  EXPECT_EQ(query->query, (Query{{"b", "c"}}));
}

TEST(Url, AFragmentIsLeftOut) {
  const auto target = parse_target("/a?b=c#d?e=f");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a");
  EXPECT_EQ(target->query, (Query{{"b", "c"}}));
}

TEST(Url, WhatCannotBeDecodedIsRefused) {
  for (const char* text :
       {"/%", "/%2", "/%zz", "/%-1", "/a?%", "/a?b=%4", "/%00", "a/b", "nothing"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
  EXPECT_TRUE(parse_target("*"));
  EXPECT_TRUE(parse_target(""));
}

TEST(Url, TooManyParametersAreRefused) {
  std::string text = "/?";
  for (std::size_t i = 0; i < kParametersMax; ++i) text += "a&";
  const auto fits = parse_target(text);
  ASSERT_TRUE(fits) << fits.error().message();
  EXPECT_EQ(fits->query.size(), kParametersMax);
  const auto more = parse_target(text + "a");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().context, "the URL has more than 1000 parameters");
}

}  // namespace
}  // namespace moraine::http
