// The tree at its limits: long lists, deep paths, large values, many transactions, and power cuts
// at random moments.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "node/test_tree.h"

namespace moraine {
namespace {

class TreeLimitsTest : public TreeTest {
 protected:
  // {"a0"=1;"a1"=1;...}
  static std::string map_of(std::size_t children) {
    std::string text = "{";
    for (std::size_t i = 0; i < children; ++i) text += fmt::format("a{}=1;", i);
    return text + "}";
  }
};

TEST_F(TreeLimitsTest, LongListsAreCutAndRemoved) {
  EXPECT_EQ(create("map_node", "//tmp/m"), "");
  EXPECT_EQ(set("//tmp/m/x", map_of(8'000)), "");
  EXPECT_EQ(set("//tmp/m/y", map_of(8'000)), "");
  EXPECT_NE(set("//tmp/m/z", map_of(9'500)).find("more than 9000"), std::string::npos);
  EXPECT_FALSE(exists("//tmp/m/z"));
  EXPECT_EQ(get("//tmp/m/x/@count"), "8000");
  EXPECT_EQ(list("//tmp/m/x", {}, 2), R"(<"incomplete"=%true;>["a0";"a1";])");
  EXPECT_EQ(get("//tmp/m/x", {}, 1), R"(<"incomplete"=%true;>{"a0"=1;})");
  EXPECT_NE(move("//tmp/m", "//tmp/n").find("move parts of it"), std::string::npos);
  EXPECT_EQ(remove("//tmp/m"), "");
  EXPECT_EQ(list("//tmp"), "[]");
  restart();
  EXPECT_EQ(list("//tmp"), "[]");
  EXPECT_EQ(set("//tmp/m", "{x=1}"), "");
  client::TreeCreate forced;
  forced.force = true;
  EXPECT_EQ(create("map_node", "//tmp/m", "{}", forced), "");
  EXPECT_EQ(set("//tmp/m/y", "2"), "");
  restart();
  EXPECT_EQ(get("//tmp"), R"({"m"={"y"=2;};})");
}

TEST_F(TreeLimitsTest, DeepPathsAndLargeValuesAreRefused) {
  client::TreeCreate recursive;
  recursive.recursive = true;
  std::string path = "//tmp";
  for (std::size_t i = 0; i < 31; ++i) path += "/d";
  EXPECT_EQ(create("map_node", path, "{}", recursive), "");
  EXPECT_NE(create("map_node", path + "/d").find("a path of 33 names"), std::string::npos);
  std::string deep = "1";
  for (int i = 0; i < 40; ++i) deep = "{d=" + deep + "}";
  EXPECT_NE(set("//tmp/e", deep).find("a path of 33 names"), std::string::npos);
  EXPECT_FALSE(exists("//tmp/e"));
  EXPECT_NE(create("map_node", "//tmp/" + std::string(1'025, 'a')).find("a path of"),
            std::string::npos);
  EXPECT_NE(get("/" + std::string(20'000, '/')).find("a path of 20001 bytes"), std::string::npos);

  const std::string large = "\"" + std::string(1u << 20, 'a') + "\"";
  EXPECT_NE(set("//tmp/s", large).find("more than 1048576"), std::string::npos);
  EXPECT_NE(set("//tmp/@a", large).find("more than 1048576"), std::string::npos);
  const std::string fits = "\"" + std::string((1u << 20) - 10'000, 'a') + "\"";
  EXPECT_EQ(set("//tmp/s", fits), "");
  EXPECT_EQ(set("//tmp/@a", fits), "");
  restart();
  EXPECT_EQ(get("//tmp/s"), fits);
  EXPECT_EQ(get("//tmp/@a"), fits);
}

TEST_F(TreeLimitsTest, ATransactionWithAllItMayHaveEnds) {
  EXPECT_EQ(set("//tmp/m", map_of(1'900)), "");
  EXPECT_EQ(set("//tmp/n", map_of(1'200)), "");
  const PathId outer = begin();
  const PathId inner = nested(outer);
  // Each child is locked.
  EXPECT_EQ(in(inner).remove("//tmp/m"), "");
  EXPECT_NE(in(inner).remove("//tmp/n").find("locks already"), std::string::npos);
  EXPECT_EQ(in(outer).remove("//tmp/n"), "");
  EXPECT_NE(commit(inner).find("more than"), std::string::npos);
  EXPECT_EQ(abort(inner), "");
  EXPECT_EQ(in(outer).set("//tmp/made", map_of(1'500)), "");
  EXPECT_EQ(commit(outer), "");
  EXPECT_EQ(in().list("//tmp"), R"(["m";"made";])");
  restart();
  EXPECT_EQ(in().get("//tmp/made/@count"), "1500");
  EXPECT_EQ(get("//tmp/m/@lock_count"), "0");
}

// What was answered is there after a power cut at any moment; what was not is there as a whole or
// not at all.
TEST_F(TreeLimitsTest, AnsweredChangesSurvivePowerCuts) {
  SeededRandom random(77);
  std::vector<PathId> open;
  for (int i = 0; i < 150; ++i) {
    const std::optional<PathId> transaction =
        open.empty() || random.next() % 2 == 0 ? std::nullopt
                                               : std::optional(open[random.next() % open.size()]);
    const std::string path = fmt::format("//tmp/{}", random.next() % 8);
    switch (random.next() % 6) {
      case 0:
        if (open.size() < 4) open.push_back(begin());
        break;
      case 1:
        if (transaction) {
          EXPECT_EQ(commit(*transaction), "");
          std::erase(open, *transaction);
        }
        break;
      case 2: (void)in(transaction).remove(path); break;
      default: (void)in(transaction).set(path, std::to_string(i)); break;
    }
    if (random.next() % 10 != 0) continue;
    std::vector<std::string> before = {in().get("//tmp")};
    for (const PathId& one : open) before.push_back(in(one).get("//tmp"));
    cut_power();
    std::vector<std::string> after = {in().get("//tmp")};
    for (const PathId& one : open) after.push_back(in(one).get("//tmp"));
    ASSERT_EQ(after, before) << i;
  }
}

}  // namespace
}  // namespace moraine
