// Commands on tables and tablets, over HTTP.
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class TableCommands : public YtTest {
 protected:
  TableCommands() { create_table("t", small_schema()); }

  std::string lookup(const std::string& keys) {
    return result("lookup_rows", R"({"path":"//t"})", keys);
  }
  const std::string t_ = R"({"path":"//t"})";
};

TEST_F(TableCommands, StatesOfTablets) {
  EXPECT_EQ(result("insert_rows", t_, "{k=1;v=a}"), "");
  EXPECT_EQ(result("freeze_table", t_), "{}");
  EXPECT_EQ(lookup("{k=1}"), "{\"k\"=1;\"v\"=\"a\";};\n");
  EXPECT_NE(error("insert_rows", t_, "{k=2}").find(R"("code":1702)"), std::string::npos);
  EXPECT_EQ(result("unfreeze_table", t_), "{}");
  EXPECT_EQ(result("insert_rows", t_, "{k=2;v=b}"), "");
  EXPECT_EQ(result("unmount_table", t_), "{}");
  EXPECT_NE(error("lookup_rows", t_, "{k=1}").find(R"("code":1702)"), std::string::npos);
  EXPECT_EQ(result("mount_table", t_), "{}");
  EXPECT_EQ(result("remount_table", t_), "{}");
  EXPECT_EQ(lookup("{k=2}"), "{\"k\"=2;\"v\"=\"b\";};\n");
}

TEST_F(TableCommands, Resharding) {
  result("insert_rows", t_, "{k=1;v=a};{k=150;v=b}");
  EXPECT_NE(error("reshard_table", R"({"path":"//t","pivot_keys":[[],[100]]})").find("unmounted"),
            std::string::npos);
  result("unmount_table", t_);
  EXPECT_NE(error("reshard_table", t_).find("Exactly one of"), std::string::npos);
  EXPECT_NE(error("reshard_table", R"({"path":"//t","tablet_count":0})").find("must be positive"),
            std::string::npos);
  EXPECT_NE(
      error("reshard_table", R"({"path":"//t","pivot_keys":[[],[]]})").find("strictly increasing"),
      std::string::npos);
  EXPECT_EQ(result("reshard_table", R"({"path":"//t","pivot_keys":[[],[100]]})"), "{}");
  EXPECT_EQ(result("get_table_pivot_keys", t_), R"([{},{"k":100}])");
  EXPECT_EQ(result("get_table_pivot_keys", R"({"path":"//t","represent_key_as_list":true})"),
            "[[],[100]]");
  result("mount_table", t_);
  EXPECT_EQ(lookup("{k=1};{k=150}"), "{\"k\"=1;\"v\"=\"a\";};\n{\"k\"=150;\"v\"=\"b\";};\n");
  result("unmount_table", t_);
  result("reshard_table", R"({"path":"//t","tablet_count":2,"uniform":true})");
  EXPECT_EQ(result("get_table_pivot_keys", t_), R"([{},{"k":0}])");
}

TEST_F(TableCommands, AlteredSchemas) {
  const std::string schema =
      R"([{"name":"k","type":"int64","sort_order":"ascending"},{"name":"v","type":"string"},)"
      R"({"name":"w","type":"int64"}])";
  const std::string parameters = R"({"path":"//t","schema":)" + schema + "}";
  EXPECT_NE(error("alter_table", parameters).find("Cannot change table schema"), std::string::npos);
  result("insert_rows", t_, "{k=1;v=a}");
  result("unmount_table", t_);
  EXPECT_EQ(result("alter_table", parameters), "{}");
  result("mount_table", t_);
  EXPECT_EQ(lookup("{k=1}"), "{\"k\"=1;\"v\"=\"a\";\"w\"=#;};\n");
  EXPECT_NE(error("alter_table", R"({"path":"//t","dynamic":false})").find("to static"),
            std::string::npos);
}

TEST_F(TableCommands, InfosAndErrorsOfTablets) {
  result("insert_rows", t_, "{k=1;v=a}");
  const std::string infos = result("get_tablet_infos", R"({"path":"//t","tablet_indexes":[0]})");
  EXPECT_TRUE(infos.starts_with(R"({"tablets":[{"total_row_count":)")) << infos;
  EXPECT_NE(
      error("get_tablet_infos", R"({"path":"//t","tablet_indexes":[1]})").find("out of range"),
      std::string::npos);
  EXPECT_EQ(result("get_tablet_errors", t_), R"({"tablet_errors":{},"replication_errors":{}})");
  EXPECT_NE(error("get_in_sync_replicas", t_).find("is not replicated"), std::string::npos);
}

TEST_F(TableCommands, RangesOfTablets) {
  result("unmount_table", t_);
  result("reshard_table", R"({"path":"//t","pivot_keys":[[],[10],[20]]})");
  result("mount_table", R"({"path":"//t","first_tablet_index":1,"last_tablet_index":1})");
  result("insert_rows", t_, "{k=15;v=m}");
  EXPECT_EQ(lookup("{k=15}"), "{\"k\"=15;\"v\"=\"m\";};\n");
  EXPECT_NE(error("lookup_rows", t_, "{k=15};{k=5}").find(R"("code":1702)"), std::string::npos);
  const Response partial =
      call("lookup_rows", R"({"path":"//t","enable_partial_result":true})", "{k=5};{k=15};{k=25}");
  EXPECT_EQ(partial.body, "{\"k\"=15;\"v\"=\"m\";};\n");
  EXPECT_EQ(partial.field("x-yt-response-parameters"), R"({"unavailable_key_indexes":[0,2]})");
  result("reshard_table",
         R"({"path":"//t","pivot_keys":[[20],[30]],"first_tablet_index":2,"last_tablet_index":2})");
  EXPECT_EQ(result("get_table_pivot_keys", R"({"path":"//t","represent_key_as_list":true})"),
            "[[],[10],[20],[30]]");
  EXPECT_NE(error("mount_table", R"({"path":"//t","first_tablet_index":9})").find("out of range"),
            std::string::npos);
}

}  // namespace
}  // namespace moraine::yt
