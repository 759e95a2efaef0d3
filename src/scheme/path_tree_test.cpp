#include "scheme/path_tree.h"

#include <gtest/gtest.h>

#include "scheme/path.h"

namespace moraine {
namespace {

NodePtr node(std::string path, NodeKind kind = NodeKind::kDirectory) {
  auto made = std::make_shared<PathNode>();
  made->path = std::move(path);
  made->kind = kind;
  return made;
}

std::vector<std::string> paths(const std::vector<NodePtr>& nodes) {
  std::vector<std::string> found;
  for (const NodePtr& one : nodes) found.push_back(one->path);
  return found;
}

using Paths = std::vector<std::string>;

PathTree small_tree() {
  PathTree tree;
  for (const char* path : {"a", "a/b", "a/b/c", "a-x", "a/b.y"}) EXPECT_TRUE(tree.set(node(path)));
  EXPECT_TRUE(tree.set(node("a/topic", NodeKind::kTopic)));
  return tree;
}

TEST(PathTree, ListsOnlyTheNodesRightInADirectory) {
  const PathTree tree = small_tree();
  EXPECT_EQ(paths(*tree.list("")), (Paths{"a", "a-x"}));
  EXPECT_EQ(paths(*tree.list("a")), (Paths{"a/b", "a/b.y", "a/topic"}));
  EXPECT_EQ(paths(*tree.list("a/b")), Paths{"a/b/c"});
  EXPECT_TRUE(tree.list("a/b/c")->empty());
  EXPECT_EQ(tree.list("none").error().code, Errc::kNotFound);
  EXPECT_EQ(tree.list("a/topic").error().code, Errc::kInvalidArgument);
  EXPECT_EQ(paths(tree.all(NodeKind::kTopic)), Paths{"a/topic"});
}

TEST(PathTree, NamesTheParentsThatAreMissing) {
  const PathTree tree = small_tree();
  EXPECT_EQ(*tree.missing_parents("a/x/y/z", true), (Paths{"a/x", "a/x/y"}));
  EXPECT_TRUE(tree.missing_parents("a/x", false)->empty());
  EXPECT_EQ(tree.missing_parents("a/x/y", false).error().code, Errc::kNotFound);
  EXPECT_EQ(tree.missing_parents("a/b", true).error().code, Errc::kAlreadyExists);
  EXPECT_EQ(tree.missing_parents("a/topic/y", true).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(tree.missing_parents("a//y", true).error().code, Errc::kInvalidArgument);
}

TEST(PathTree, ADirectoryWithNodesStays) {
  const PathTree tree = small_tree();
  EXPECT_EQ(tree.removable("a").error().code, Errc::kConflict);
  EXPECT_EQ(tree.removable("none").error().code, Errc::kNotFound);
  EXPECT_TRUE(tree.removable("a-x"));
  EXPECT_TRUE(tree.removable("a/b.y"));
}

TEST(PathTree, ANodeInNoDirectoryIsCorrupt) {
  PathTree tree = small_tree();
  EXPECT_EQ(tree.set(node("b/c")).error().code, Errc::kCorrupt);
  EXPECT_EQ(tree.set(node("a/topic/c")).error().code, Errc::kCorrupt);
}

TEST(Path, SaysWhatIsWrongWithAName) {
  for (const char* good : {"a", "team/orders", "a.b_c-9/X"}) EXPECT_TRUE(check_path(good)) << good;
  for (const char* bad : {"", "/a", "a/", "a//b", ".", "a/..", "a b", "\xff"}) {
    EXPECT_EQ(check_path(bad).error().code, Errc::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(check_path(std::string(kPathBytesMax + 1, 'a')));
  std::string deep = "a";
  for (std::size_t i = 0; i < kPathNamesMax; ++i) deep += "/a";
  EXPECT_FALSE(check_path(deep));
}

}  // namespace
}  // namespace moraine
