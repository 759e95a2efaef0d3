#include "gateway/yt/request_head.h"

#include <gtest/gtest.h>

namespace moraine::yt {
namespace {

http::Request request_of(std::vector<std::pair<std::string, std::string>> fields) {
  http::Request request;
  request.method = "PUT";
  for (auto& [name, value] : fields) request.fields.add(std::move(name), std::move(value));
  return request;
}

const Command& lookup() {
  return *find_command("lookup_rows", 4);
}

std::string key_of(const http::Request& request) {
  return RequestHeads::key_of(request, lookup(), 4).value_or("none");
}

TEST(RequestHead, ParametersNameFormats) {
  const auto request = request_of({{"X-YT-Header-Format", "<format=text>yson"},
                                   {"X-YT-Parameters", "{path=\"//t\";output_format=dsv}"},
                                   {"X-YT-Input-Format", "json"}});
  RequestHead head;
  ASSERT_TRUE(read_head_formats(request, lookup(), 4, head));
  ASSERT_TRUE(read_head_parameters(request, head));
  EXPECT_NE(head.input_format.as<JsonOptions>(), nullptr);
  EXPECT_NE(head.output_format.as<DsvOptions>(), nullptr);
  EXPECT_NE(head.parameters.find("path"), nullptr);
}

// Its body is not in the format that they name.
TEST(RequestHead, ParametersOfAPostNameFormatsAfterItsBody) {
  auto request = request_of({{"X-YT-Parameters", R"({"input_format":"dsv"})"}});
  request.method = "POST";
  RequestHead head;
  ASSERT_TRUE(read_head_formats(request, lookup(), 4, head));
  ASSERT_TRUE(read_head_parameters(request, head));
  EXPECT_EQ(head.input_format.as<DsvOptions>(), nullptr);
  ASSERT_TRUE(override_formats(Parameters(head.parameters), head.input_format, head.output_format));
  EXPECT_NE(head.input_format.as<DsvOptions>(), nullptr);
}

TEST(RequestHead, WhatMakesAHeadIsPartOfItsKey) {
  const std::string base = key_of(request_of({}));
  for (const std::string_view name :
       {"x-yt-parameters", "X-YT-Parameters-0", "X-YT-Parameters0", "X-YT-Header-Format",
        "X-YT-Input-Format", "X-YT-OUTPUT-FORMAT", "X-YT-Error-Format", "Content-Type", "Accept"}) {
    EXPECT_NE(key_of(request_of({{std::string(name), "x"}})), base) << name;
  }
  EXPECT_EQ(key_of(request_of({{"X-YT-Correlation-Id", "1-2-3-4"}, {"User-Agent", "x"}})), base);

  http::Request query = request_of({});
  query.target.query = {{"path", "//a"}};
  EXPECT_NE(key_of(query), base);
  http::Request post = request_of({});
  post.method = "POST";
  EXPECT_NE(key_of(post), base);
  EXPECT_NE(RequestHeads::key_of(request_of({}), lookup(), 3), base);
  EXPECT_NE(RequestHeads::key_of(request_of({}), *find_command("insert_rows", 4), 4), base);
}

// However texts are cut.
TEST(RequestHead, DifferentTextsMakeDifferentKeys) {
  EXPECT_NE(key_of(request_of({{"X-YT-Parameters-0", "ab"}, {"X-YT-Parameters-1", "c"}})),
            key_of(request_of({{"X-YT-Parameters-0", "a"}, {"X-YT-Parameters-1", "bc"}})));
  http::Request query = request_of({});
  query.target.query = {{"Accept", "a"}};
  EXPECT_NE(key_of(query), key_of(request_of({{"Accept", "a"}})));
}

TEST(RequestHead, ALongOneIsNotKept) {
  const auto request = request_of({{"X-YT-Parameters", std::string(kCachedHeadBytesMax, ' ')}});
  EXPECT_FALSE(RequestHeads::key_of(request, lookup(), 4));
}

TEST(RequestHead, TheCacheKeepsTheLastOnesWithinItsBound) {
  RequestHeads heads;
  EXPECT_EQ(heads.find("a"), nullptr);
  RequestHead head;
  head.parameters.set("path", "//a");
  heads.add("a", head);
  ASSERT_NE(heads.find("a"), nullptr);
  EXPECT_NE(heads.find("a")->parameters.find("path"), nullptr);
  std::size_t kept = 0;
  for (int i = 0; i < 10'000; ++i) heads.add(std::to_string(i), head);
  for (int i = 0; i < 10'000; ++i) kept += heads.find(std::to_string(i)) != nullptr ? 1 : 0;
  EXPECT_LE(kept, kHeadsCached);
  EXPECT_GT(kept, kHeadsCached / 2);
}

}  // namespace
}  // namespace moraine::yt
