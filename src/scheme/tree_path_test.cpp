#include "scheme/tree_path.h"

#include <gtest/gtest.h>

#include "scheme/object_id.h"
#include "scheme/path.h"

namespace moraine {
namespace {

using Kind = TreeToken::Kind;

TreeTokens tokens(const char* text) {
  const auto path = parse_tree_path(text);
  EXPECT_TRUE(path) << text << ": " << path.error().message();
  return path ? path->tokens : TreeTokens();
}

TEST(TreePath, RootsAndNames) {
  EXPECT_TRUE(tokens("/").empty());
  EXPECT_EQ(tokens("//tmp/a b"), (TreeTokens{{Kind::kName, "tmp"}, {Kind::kName, "a b"}}));
  const auto object = parse_tree_path("#1-2-10191-5f/x");
  ASSERT_TRUE(object);
  EXPECT_EQ(to_text(*object->object), "1-2-10191-5f");
  EXPECT_EQ(object->tokens, (TreeTokens{{Kind::kName, "x"}}));
}

TEST(TreePath, AttributesLinksAndAll) {
  EXPECT_EQ(tokens("//t/@"), (TreeTokens{{Kind::kName, "t"}, {Kind::kAttributes, ""}}));
  EXPECT_EQ(tokens("//@a/b"),
            (TreeTokens{{Kind::kAttributes, ""}, {Kind::kName, "a"}, {Kind::kName, "b"}}));
  EXPECT_EQ(
      tokens("//t&/@x"),
      (TreeTokens{
          {Kind::kName, "t"}, {Kind::kNoLink, ""}, {Kind::kAttributes, ""}, {Kind::kName, "x"}}));
  EXPECT_EQ(tokens("//t/*"), (TreeTokens{{Kind::kName, "t"}, {Kind::kAll, ""}}));
}

TEST(TreePath, EscapedBytes) {
  EXPECT_EQ(tokens(R"(//a\/b\@\x01\\)"), (TreeTokens{{Kind::kName, "a/b@\x01\\"}}));
}

TEST(TreePath, TextsParseToTheirPaths) {
  for (const char* text : {"/", "//tmp", "//@", "//@a/b/@c", "//t&", "//t&/@x", "//t/*", "//t/@*",
                           "#1-2-10191-5f", "#1-2-10191-5f/@id", R"(//a\/b/\x01/c\&)"}) {
    const auto path = parse_tree_path(text);
    ASSERT_TRUE(path) << text;
    EXPECT_EQ(to_text(*path), text);
  }
}

TEST(TreePath, OtherTextsAreRefused) {
  for (const char* text : {"", "tmp", "///", "//tmp/", "//tmp//a", "//tmp\\", "//a\\q", "//a\\x1",
                           "//a[1]", "//a{b}", "#", "#1-2", "//a/@b@c", "//tmp/@@"}) {
    const auto path = parse_tree_path(text);
    ASSERT_FALSE(path) << text;
    EXPECT_EQ(path.error().code, Errc::kInvalidArgument) << text;
  }
  EXPECT_FALSE(parse_tree_path("/" + std::string(kTreePathBytesMax, 'a')));
  std::string deep = "/";
  for (std::size_t i = 0; i <= kTreePathTokensMax; ++i) deep += "/a";
  EXPECT_FALSE(parse_tree_path(deep));
}

TEST(TreePath, NamesOfTheSchemeAreNamesOfTheTree) {
  for (const std::string name :
       {"abc", "a b", "a/b", "%", "%2F", ".", "..", "a.b", "\xd0\xba", "#"}) {
    const std::string stored = scheme_name(name);
    EXPECT_TRUE(check_name(stored)) << name << " " << stored;
    EXPECT_EQ(tree_name(stored), name);
  }
  EXPECT_EQ(scheme_name("a b"), "a%20b");
  // One spelling for each name.
  for (const char* other : {"a%20", "%2f", "%41", "a%2E", "%", "%2", "a%2"}) {
    const bool ok = check_name(other).has_value();
    EXPECT_EQ(ok, scheme_name(tree_name(other)) == other) << other;
  }
  EXPECT_EQ(tree_path_of("tmp/a%20b"), "//tmp/a b");
  EXPECT_EQ(tree_path_of(""), "/");
}

}  // namespace
}  // namespace moraine
