#include "scheme/value_path.h"

#include <gtest/gtest.h>

#include "yson/yson.h"

namespace moraine {
namespace {

YsonNode parse(std::string_view text) {
  auto value = parse_yson(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : YsonNode();
}
// "" is the value itself.
TreeTokens at(const std::string& path) {
  const auto parsed = parse_tree_path("/" + path);
  EXPECT_TRUE(parsed) << path;
  return parsed ? parsed->tokens : TreeTokens();
}
std::string shown(const YsonNode& value) {
  return write_yson(value, YsonFormat::kText);
}
std::string got(std::string_view value, const std::string& path) {
  const YsonNode root = parse(value);
  const auto part = get_value(root, at(path), "V");
  EXPECT_EQ(has_value(root, at(path)), part.has_value()) << path;
  return part ? shown(*part) : part.error().context;
}
std::string after_set(std::string_view value, const std::string& path, std::string_view part,
                      bool recursive = false) {
  YsonNode root = parse(value);
  const YsonNode before = root;
  const auto done = set_value(root, at(path), parse(part), recursive, "V");
  if (done) return shown(root);
  EXPECT_EQ(root, before) << path;
  return done.error().context;
}
std::string after_remove(std::string_view value, const std::string& path, bool force = false) {
  YsonNode root = parse(value);
  const auto done = remove_value(root, at(path), force, "V");
  return done ? shown(root) : done.error().context;
}

TEST(ValuePath, Get) {
  EXPECT_EQ(got("{a=[1;2;{b=c}]}", "/a/2/b"), R"("c")");
  EXPECT_EQ(got("{a=[1;2;3]}", "/a/-1"), "3");
  EXPECT_EQ(got("{a=[1;2;3]}", "/a/begin"), "1");
  EXPECT_EQ(got("{a=[1;2;3]}", "/a/3"), "V has no child with index 3");
  EXPECT_EQ(got("{a=1}", "/b"), R"(V has no child with key "b")");
  EXPECT_EQ(got("{a=1}", "/a/b"), "\"int64\" node V cannot have children");
  EXPECT_EQ(got("{a=<x={y=1}>1}", "/a/@x/y"), "1");
  EXPECT_EQ(got("{a=<x=1>1}", "/a/@"), R"({"x"=1;})");
  EXPECT_EQ(got("{a=1}", "/a/@x"), "Attribute \"x\" is not found");
  EXPECT_EQ(got("[1]", "/x"), "Failed to parse list index \"x\" of V");
}

TEST(ValuePath, Set) {
  EXPECT_EQ(after_set("{a=1}", "/a", "2"), R"({"a"=2;})");
  EXPECT_EQ(after_set("{a=1}", "/b", "2"), R"({"a"=1;"b"=2;})");
  EXPECT_EQ(after_set("[1;2]", "/end", "3"), "[1;2;3;]");
  EXPECT_EQ(after_set("[1;2]", "/begin", "0"), "[0;1;2;]");
  EXPECT_EQ(after_set("[1;2]", "/after:0", "9"), "[1;9;2;]");
  EXPECT_EQ(after_set("[1;2]", "/before:-1", "9"), "[1;9;2;]");
  EXPECT_EQ(after_set("[1;2]", "/1", "9"), "[1;9;]");
  EXPECT_EQ(after_set("[1;2]", "/2", "9"), "V has no child with index 2");
  EXPECT_EQ(after_set("{}", "/a/b/c", "1"), R"(V has no child with key "a")");
  EXPECT_EQ(after_set("{}", "/a/b/c", "1", true), R"({"a"={"b"={"c"=1;};};})");
  EXPECT_EQ(after_set("{a=1}", "/a/@x", "1"), R"({"a"=<"x"=1;>1;})");
  EXPECT_EQ(after_set("1", "", "{a=2}"), R"({"a"=2;})");
}

TEST(ValuePath, Remove) {
  EXPECT_EQ(after_remove("{a=1;b=2}", "/a"), R"({"b"=2;})");
  EXPECT_EQ(after_remove("[1;2;3]", "/1"), "[1;3;]");
  EXPECT_EQ(after_remove("[1;2;3]", "/*"), "[]");
  EXPECT_EQ(after_remove("{a=<x=1;y=2>1}", "/a/@x"), R"({"a"=<"y"=2;>1;})");
  EXPECT_EQ(after_remove("{a=1}", "/b"), R"(V has no child with key "b")");
  EXPECT_EQ(after_remove("{a=1}", "/b", true), R"({"a"=1;})");
}

}  // namespace
}  // namespace moraine
