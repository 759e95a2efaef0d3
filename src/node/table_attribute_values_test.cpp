// Attributes of tables of a running node: read, set, and kept over restarts.

#include <gtest/gtest.h>

#include "client/table_attributes.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"
#include "yson/yson.h"

namespace moraine {
namespace {

class TableAttributeValues : public testing::Test {
 protected:
  YsonNode yson(std::string_view text) { return parse_yson(text).value(); }
  StoredTables& tables() { return node_.node().tables().tables(); }
  Result<void> run(std::function<Task<Result<void>>()> body) {
    return node_.on_lane<Result<void>>(0, std::move(body));
  }
  void create(std::string_view attributes) {
    auto made = client::table_of_attributes(*yson(attributes).as<YsonMap>());
    ASSERT_TRUE(made) << made.error().message();
    const auto created = run([&] { return tables().create("t", made->table); });
    ASSERT_TRUE(created) << created.error().message();
  }
  // Entity: the table has not got it.
  YsonNode get(std::string name) {
    auto values = node_.on_lane<Result<YsonMap>>(
        0, [&] { return client::read_table_attributes(tables(), "t", {name}); });
    EXPECT_TRUE(values) << values.error().message();
    const YsonNode* found = values ? values->find(name) : nullptr;
    return found == nullptr ? YsonNode() : *found;
  }
  Result<void> set(std::string name, std::string_view value) {
    return run([&] { return client::set_table_attribute(tables(), "t", name, yson(value)); });
  }
  Result<void> mount() {
    return run([&] { return tables().mount("t", MountState::kMounted); });
  }

  TestNode node_{1};
};

constexpr std::string_view kTable =
    "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=v;type=string}];"
    "pivot_keys=[[];[5]];mount_config={max_data_ttl=456}}";

TEST_F(TableAttributeValues, OfADynamicTable) {
  create(kTable);
  EXPECT_EQ(get("dynamic"), YsonNode(true));
  EXPECT_EQ(get("sorted"), YsonNode(true));
  EXPECT_EQ(get("tablet_count"), YsonNode(2));
  EXPECT_EQ(get("pivot_keys"), yson("[[];[5]]"));
  EXPECT_EQ(get("key_columns"), yson("[k]"));
  EXPECT_EQ(get("tablet_state"), YsonNode("unmounted"));
  EXPECT_EQ(get("row_count"), YsonNode()) << "dynamic tables have none";
  EXPECT_EQ(get("schema").attributes().find("unique_keys")->as<bool>()[0], true);
  EXPECT_EQ(get("compression_codec"), YsonNode("lz4"));
  EXPECT_EQ(get("mount_config"), yson("{max_data_ttl=456}"));
  EXPECT_EQ(get("max_data_ttl"), YsonNode(456));
  EXPECT_EQ(get("min_data_ttl"), YsonNode()) << "nobody has set it";
  EXPECT_EQ(get("nonsense"), YsonNode());
  ASSERT_TRUE(mount());
  EXPECT_EQ(get("tablet_state"), YsonNode("mounted"));
  EXPECT_EQ(*get("tablet_count_by_state").find("mounted"), YsonNode(2));
  const YsonNode tablets = get("tablets");
  ASSERT_EQ(tablets.as<YsonList>()->size(), 2u);
  const YsonNode& second = tablets.as<YsonList>()->at(1);
  EXPECT_EQ(*second.find("pivot_key"), yson("[5]"));
  EXPECT_EQ(*second.find("state"), YsonNode("mounted"));
  EXPECT_NE(second.find("cell_id"), nullptr);
  EXPECT_EQ(*second.find("statistics")->find("tablet_count"), YsonNode(1));
  for (const client::TableAttribute& attribute : client::table_attribute_names()) {
    (void)get(std::string(attribute.name));
  }
}

TEST_F(TableAttributeValues, WhatIsSetIsKeptOverRestarts) {
  create(kTable);
  ASSERT_TRUE(mount());
  EXPECT_TRUE(set("min_data_versions", "1")) << "the default, set";
  EXPECT_TRUE(set("optimize_for", "scan"));
  EXPECT_TRUE(set("backing_store_retention_time", "1000"));
  EXPECT_EQ(get("remount_needed_tablet_count"), YsonNode(2));
  node_.cut_power();
  EXPECT_EQ(get("min_data_versions"), YsonNode(1));
  EXPECT_EQ(get("optimize_for"), YsonNode("scan"));
  EXPECT_EQ(get("mount_config"),
            yson("{min_data_versions=1;max_data_ttl=456;backing_store_retention_time=1000}"));
  EXPECT_EQ(get("remount_needed_tablet_count"), YsonNode(2));
  EXPECT_TRUE(run([&] { return tables().remount("t"); }));
  EXPECT_EQ(get("remount_needed_tablet_count"), YsonNode(0));
  EXPECT_TRUE(set("mount_config", "{max_data_versions=3}"));
  EXPECT_EQ(get("mount_config"), yson("{max_data_versions=3}"));
  EXPECT_EQ(get("max_data_ttl"), YsonNode());
  EXPECT_TRUE(set("mount_config", "#"));
  EXPECT_EQ(get("mount_config"), yson("{}"));
}

TEST_F(TableAttributeValues, SomeCanBeSetWhileUnmountedOnly) {
  create(kTable);
  EXPECT_TRUE(set("in_memory_mode", "compressed"));
  EXPECT_TRUE(set("replication_factor", "1"));
  ASSERT_TRUE(mount());
  const auto refused = [&](std::string name, std::string_view value) {
    const auto done = set(std::move(name), value);
    return done ? "done" : done.error().context;
  };
  EXPECT_TRUE(
      refused("in_memory_mode", "none")
          .starts_with("Cannot change table memory mode since not all tablets are unmounted"));
  EXPECT_TRUE(
      refused("atomicity", "none")
          .starts_with("Cannot change table atomicity mode since not all tablets are unmounted"));
  EXPECT_TRUE(refused("replication_factor", "3").starts_with("Cannot change storage parameters"));
  EXPECT_EQ(refused("key_columns", "[v]"), "Builtin attribute \"key_columns\" cannot be set");
  EXPECT_EQ(get("in_memory_mode"), YsonNode("compressed"));
}

TEST_F(TableAttributeValues, ContradictionsFailAtTheMount) {
  create(kTable);
  EXPECT_TRUE(set("min_data_versions", "9"));
  EXPECT_TRUE(set("lookup_cache_rows_ratio", "7.0"));
  EXPECT_FALSE(mount());
  EXPECT_TRUE(set("lookup_cache_rows_ratio", "0.5"));
  const auto mounted = mount();
  EXPECT_TRUE(mounted) << mounted.error().message();
}

TEST_F(TableAttributeValues, OfAStaticTable) {
  create("{schema=[{name=a;type=string}];optimize_for=scan}");
  EXPECT_EQ(get("dynamic"), YsonNode(false));
  EXPECT_EQ(get("row_count"), YsonNode(0));
  EXPECT_EQ(get("tablet_state"), YsonNode()) << "static tables have no tablets";
  EXPECT_EQ(get("sorted"), YsonNode(false));
  EXPECT_TRUE(set("compression_codec", "zlib_6"));
  EXPECT_EQ(get("compression_codec"), YsonNode("zlib_6"));
}

}  // namespace
}  // namespace moraine
