#include "app/blob_client.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

TEST(ParseId, AllowsTheBracketsToBeLeftOut) {
  EXPECT_EQ(parse_id("1:2:3:4:5:6:0")->to_string(), "[1:2:3:4:5:6:0]");
  EXPECT_EQ(*parse_id("[1:2:3:4:5:6:0]"), *parse_id("1:2:3:4:5:6:0"));
  EXPECT_EQ(*parse_id(parse_id("[1:2:3:4:5:6:0]")->to_hex()), *parse_id("1:2:3:4:5:6:0"));
  EXPECT_FALSE(parse_id("1:2:3:4:5:6:0]"));
  EXPECT_FALSE(parse_id("[1:2:3:4:5:6:0"));
  const auto other = parse_id("foo");
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().context.contains("e.g. 1:1:1:0:0:6:0")) << other.error().context;
}

}  // namespace
}  // namespace moraine::app
