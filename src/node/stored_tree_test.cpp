#include "node/stored_tree.h"

#include <gtest/gtest.h>

#include "node/test_tree.h"
#include "scheme/object_id.h"

namespace moraine {
namespace {

class StoredTreeTest : public TreeTest {};

TEST_F(StoredTreeTest, ValuesAndMapsAreSetAndRead) {
  EXPECT_EQ(create("map_node", "//tmp/a"), "");
  EXPECT_EQ(set("//tmp/a/n", "42"), "");
  EXPECT_EQ(set("//tmp/a/s", "\"text\""), "");
  EXPECT_EQ(set("//tmp/a/deep", "{x=1u;y={z=%true}}"), "");
  EXPECT_EQ(get("//tmp/a"), R"({"deep"={"x"=1u;"y"={"z"=%true;};};"n"=42;"s"="text";})");
  EXPECT_EQ(get("//tmp/a/deep/y/z"), "%true");
  EXPECT_EQ(list("//tmp/a"), R"(["deep";"n";"s";])");
  EXPECT_EQ(get("//tmp/a/@type"), R"("map_node")");
  EXPECT_EQ(get("//tmp/a/@count"), "3");
  EXPECT_EQ(get("//tmp/a/n/@type"), R"("int64_node")");
  EXPECT_EQ(get("//tmp/a/n/@path"), R"("//tmp/a/n")");
  EXPECT_EQ(get("//tmp/a/n/@key"), R"("n")");
  EXPECT_EQ(get("//tmp/a/n/@parent_id"), get("//tmp/a/@id"));
  EXPECT_EQ(get("//tmp/a/missing"), "not found: Node //tmp/a has no child with key \"missing\"");
  EXPECT_EQ(
      set("//tmp/a/n", "\"text\""),
      "invalid argument: Cannot update \"int64\" node with \"string\" value; types must match");
  EXPECT_EQ(set("//tmp/a/n", "43"), "");
  EXPECT_EQ(get("//tmp/a/n"), "43");
  restart();
  EXPECT_EQ(get("//tmp/a"), R"({"deep"={"x"=1u;"y"={"z"=%true;};};"n"=43;"s"="text";})");
}

TEST_F(StoredTreeTest, NodesAreFoundByTheirIds) {
  EXPECT_EQ(set("//tmp/n", "1"), "");
  const std::string id = get("//tmp/n/@id");
  const std::string path = "#" + id.substr(1, id.size() - 2);
  EXPECT_EQ(get(path), "1");
  EXPECT_EQ(get(path + "/@path"), R"("//tmp/n")");
  EXPECT_EQ(move("//tmp/n", "//tmp/m"), "");
  EXPECT_EQ(get(path + "/@path"), R"("//tmp/m")");
  EXPECT_EQ(remove("//tmp/m"), "");
  EXPECT_NE(get(path).find("not found: No such object"), std::string::npos);
}

// C-11, C-12.
TEST_F(StoredTreeTest, DocumentsAndAttributesHaveValuesInside) {
  EXPECT_EQ(create("document", "//tmp/d"), "");
  EXPECT_EQ(set("//tmp/d", "{list=[1;2;{string=this}]}"), "");
  EXPECT_EQ(get("//tmp/d"), R"({"list"=[1;2;{"string"="this";};];})");
  EXPECT_EQ(get("//tmp/d/list/-1/string"), R"("this")");
  EXPECT_EQ(set("//tmp/d/list/end", "4"), "");
  EXPECT_EQ(set("//tmp/d/list/before:0", "0"), "");
  EXPECT_EQ(remove("//tmp/d/list/3"), "");
  EXPECT_EQ(get("//tmp/d/list"), "[0;1;2;4;]");
  EXPECT_TRUE(exists("//tmp"));
  EXPECT_FALSE(exists("//tmp/a/f/e"));
  EXPECT_EQ(create("map_node", "//tmp/a"), "");
  EXPECT_EQ(set("//tmp/a/@list", "[10]"), "");
  EXPECT_TRUE(exists("//tmp/a/@list/0"));
  EXPECT_FALSE(exists("//tmp/a/@list/1"));
  EXPECT_TRUE(exists("//sys/operations"));
  EXPECT_FALSE(exists("//sys/xxx"));
}

// C-13, C-14, C-15.
TEST_F(StoredTreeTest, CreationAndRemovalHaveTheirRules) {
  EXPECT_NE(create("map_node", "//tmp/a/b").find("has no child with key"), std::string::npos);
  client::TreeCreate wanted;
  wanted.recursive = true;
  EXPECT_EQ(create("map_node", "//tmp/a/b", "{}", wanted), "");
  EXPECT_NE(create("map_node", "//tmp/a/b").find("already exists"), std::string::npos);
  wanted.ignore_existing = true;
  EXPECT_EQ(create("map_node", "//tmp/a/b", "{}", wanted), "");
  EXPECT_NE(create("document", "//tmp/a/b", "{}", wanted)
                .find("already exists and has type \"map_node\" while node of \"document\" type is "
                      "about to be created"),
            std::string::npos);
  const std::string first = get("//tmp/a/b/@id");
  client::TreeCreate forced;
  forced.force = true;
  EXPECT_EQ(create("document", "//tmp/a/b", "{}", forced), "");
  EXPECT_NE(get("//tmp/a/b/@id"), first);

  EXPECT_NE(remove("//tmp/missing").find("not found"), std::string::npos);
  EXPECT_EQ(remove("//tmp/missing", true, true), "");
  EXPECT_NE(remove("//tmp/a", false).find("Cannot remove non-empty composite node"),
            std::string::npos);
  EXPECT_NE(remove("//tmp/a", false, true).find("non-empty"), std::string::npos);
  EXPECT_EQ(remove("//tmp/a"), "");
  EXPECT_FALSE(exists("//tmp/a"));
  EXPECT_NE(remove("//tmp").find("cannot be removed"), std::string::npos);
}

// C-16, C-17.
TEST_F(StoredTreeTest, AttributesAreShownAsAskedFor) {
  EXPECT_EQ(create("map_node", "//tmp/a", "{attr=7}"), "");
  EXPECT_EQ(create("map_node", "//tmp/a/b"), "");
  EXPECT_NE(get("//tmp/a/@").find(R"("attr"=7;)"), std::string::npos);
  EXPECT_NE(get("//tmp/a/@").find(R"("key"="a";)"), std::string::npos);
  EXPECT_NE(get("//tmp/a/@").find(R"("path"=#;)"), std::string::npos);
  EXPECT_EQ(get("//tmp/a/@", {"attr", "path"}), R"({"attr"=7;"path"="//tmp/a";})");
  EXPECT_EQ(get("//tmp/a", {"type"}), R"(<"type"="map_node";>{"b"=<"type"="map_node";>{};})");
  EXPECT_EQ(list("//tmp/a", {"type"}), R"([<"type"="map_node";>"b";])");
  EXPECT_EQ(get("//tmp/a/@user_attribute_keys"), R"(["attr";])");
  EXPECT_EQ(get("//tmp/a/@none"), "not found: Attribute \"none\" is not found");
  EXPECT_EQ(set("//tmp/a/@id", "1"), "invalid argument: Builtin attribute \"id\" cannot be set");
  EXPECT_EQ(set("//tmp/a/@map/key", "1"), "not found: Attribute \"map\" is not found");
  EXPECT_EQ(set("//tmp/a/@map", "{}"), "");
  EXPECT_EQ(set("//tmp/a/@map/key", "1"), "");
  EXPECT_EQ(get("//tmp/a/@map/key"), "1");
  EXPECT_EQ(get("//tmp/a", {"map/key"}), R"(<"map"={"key"=1;};>{"b"={};})");
  EXPECT_EQ(remove("//tmp/a/@attr"), "");
  EXPECT_FALSE(exists("//tmp/a/@attr"));
  restart();
  EXPECT_EQ(get("//tmp/a/@map"), R"({"key"=1;})");
}

// C-18.
TEST_F(StoredTreeTest, LinksLeadToTheirTargets) {
  EXPECT_EQ(set("//tmp/t1", "1"), "");
  EXPECT_EQ(link("//tmp/t1", "//tmp/t2"), "");
  EXPECT_EQ(get("//tmp/t2"), "1");
  EXPECT_EQ(get("//tmp/t2/@type"), R"("int64_node")");
  EXPECT_EQ(get("//tmp/t2&/@type"), R"("link")");
  EXPECT_EQ(get("//tmp/t2&/@target_path"), R"("//tmp/t1")");
  EXPECT_EQ(get("//tmp/t1/@id"), get("//tmp/t2/@id"));
  EXPECT_EQ(get("//tmp/t2&/@broken"), "%false");
  EXPECT_EQ(remove("//tmp/t1"), "");
  EXPECT_EQ(get("//tmp/t2&/@broken"), "%true");
  EXPECT_FALSE(exists("//tmp/t2"));
  EXPECT_TRUE(exists("//tmp/t2&"));
  EXPECT_EQ(remove("//tmp/t2"), "");
  EXPECT_FALSE(exists("//tmp/t2&"));
}

TEST_F(StoredTreeTest, LinksInACircleEnd) {
  EXPECT_NE(link("//tmp/a", "//tmp/b").find("not found"), std::string::npos);
  client::TreeLink forced;
  forced.force = true;
  EXPECT_EQ(link("//tmp/a", "//tmp/b", forced), "");
  EXPECT_EQ(link("//tmp/b", "//tmp/a", forced), "");
  EXPECT_NE(get("//tmp/a").find("Maximum resolve depth"), std::string::npos);
  EXPECT_NE(link("//tmp/a", "//tmp/a").find("Maximum resolve depth"), std::string::npos);
}

TEST_F(StoredTreeTest, NamesMayHaveAnyBytes) {
  EXPECT_EQ(set(R"(//tmp/a\/b c)", "1"), "");
  EXPECT_EQ(list("//tmp"), R"(["a/b c";])");
  EXPECT_EQ(get(R"(//tmp/a\/b c/@path)"), R"("//tmp/a\\/b c")");
  EXPECT_EQ(get(R"(//tmp/a\/b c)"), "1");
}

// C-23 to C-25 in part.
TEST_F(StoredTreeTest, TablesAreNodes) {
  constexpr const char* kSchema =
      "{dynamic=%true;mine=5;schema=[{name=k;type=int64;sort_order=ascending};"
      "{name=v;type=string}]}";
  EXPECT_EQ(create("table", "//tmp/t", kSchema), "");
  EXPECT_EQ(get("//tmp/t"), "#");
  EXPECT_EQ(get("//tmp/t/@type"), R"("table")");
  EXPECT_EQ(get("//tmp/t/@dynamic"), "%true");
  EXPECT_EQ(get("//tmp/t/@mine"), "5");
  EXPECT_EQ(get("//tmp/t/@tablet_state"), R"("unmounted")");
  EXPECT_EQ(set("//tmp/t/@min_data_ttl", "1000"), "");
  EXPECT_EQ(get("//tmp/t/@min_data_ttl"), "1000");
  EXPECT_EQ(move("//tmp/t", "//tmp/u"), "");
  EXPECT_EQ(get("//tmp/u/@min_data_ttl"), "1000");
  restart();
  EXPECT_EQ(get("//tmp/u/@min_data_ttl"), "1000");
  EXPECT_EQ(mount("tmp/u"), "");
  EXPECT_EQ(get("//tmp/u/@tablet_state"), R"("mounted")");
  EXPECT_NE(move("//tmp/u", "//tmp/t").find("Cannot move dynamic table"), std::string::npos);
  EXPECT_EQ(remove("//tmp/u"), "");
  EXPECT_FALSE(exists("//tmp/u"));
  EXPECT_EQ(tables(), "");
}

TEST_F(StoredTreeTest, MutationsAreMadeOnce) {
  client::MutationId mutation{parse_object_id("1-2-3-4").value(), false};
  EXPECT_EQ(set_once(mutation, "//tmp/n", "1"), "");
  EXPECT_EQ(set("//tmp/n", "2"), "");
  EXPECT_EQ(set_once(mutation, "//tmp/n", "1"),
            "invalid argument: Duplicate request is not marked as \"retry\"");
  mutation.retry = true;
  EXPECT_EQ(set_once(mutation, "//tmp/n", "1"), "");
  EXPECT_EQ(get("//tmp/n"), "2");
  restart();
  EXPECT_EQ(set_once(mutation, "//tmp/n", "1"), "");
  EXPECT_EQ(get("//tmp/n"), "2");
}

// Attributes that the table keeps itself are set with the others, or none are.
TEST_F(StoredTreeTest, SeveralAttributesOfATable) {
  ASSERT_EQ(create("table", "//tmp/t",
                   "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};"
                   "{name=v;type=string}]}"),
            "");
  const auto set_all = [&](const std::string& values) {
    YsonNode map = parse(values);
    return outcome(run<void>(
        [&] { return tree().set_attributes(scope(), "//tmp/t/@", *map.as<YsonMap>(), {}); }));
  };
  EXPECT_EQ(set_all("{mine=1;min_data_ttl=5;max_data_versions=7;yours=b}"), "");
  EXPECT_EQ(get("//tmp/t/@min_data_ttl"), "5");
  EXPECT_EQ(get("//tmp/t/@max_data_versions"), "7");
  EXPECT_EQ(get("//tmp/t/@yours"), "\"b\"");
  EXPECT_NE(set_all("{min_data_ttl=6;id=x}"), "") << "the id cannot be set";
  EXPECT_NE(set_all("{min_data_ttl=6;max_data_versions=many}"), "");
  EXPECT_NE(set_all("{mine=2;min_data_ttl=6;tablet_count=3}"), "");
  EXPECT_EQ(get("//tmp/t/@min_data_ttl"), "5");
  EXPECT_EQ(get("//tmp/t/@mine"), "1");
}

}  // namespace
}  // namespace moraine
