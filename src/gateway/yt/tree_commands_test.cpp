// Commands on nodes of the tree and their transactions, over HTTP.
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class TreeCommands : public YtTest {
 protected:
  std::string id_of(const std::string& answer) {
    return answer.substr(answer.find(":\"") + 2, answer.find("\"}") - answer.find(":\"") - 2);
  }
  std::string begin(const std::string& more = "") {
    return id_of(result("start_transaction", R"({"timeout":30000)" + more + "}"));
  }
};

TEST_F(TreeCommands, ValuesAndChildren) {
  result("create", R"({"type":"map_node","path":"//tmp/a/b","recursive":true})");
  EXPECT_EQ(result("set", R"({"path":"//tmp/a/x"})", "5"), "{}");
  EXPECT_EQ(result("get", R"({"path":"//tmp/a/x"})"), R"({"value":5})");
  EXPECT_EQ(result("get", R"({"path":"//tmp/a/x","return_only_value":true})"), "5");
  EXPECT_EQ(send("GET", "/api/v3/get?path=//tmp/a/x").body, "5");
  EXPECT_EQ(result("exists", R"({"path":"//tmp/a/none"})"), R"({"value":false})");
  EXPECT_EQ(result("list", R"({"path":"//tmp/a"})"), R"({"value":["b","x"]})");
  EXPECT_EQ(result("remove", R"({"path":"//tmp/a"})"), "{}");
  EXPECT_NE(error("get", R"({"path":"//tmp/a"})").find(R"("code":500)"), std::string::npos);
}

TEST_F(TreeCommands, DocumentsKeepJson) {
  result("create", R"({"type":"document","path":"//tmp/d"})");
  result("set", R"({"path":"//tmp/d","input_format":"json"})",
         R"({"list": [1,2,{"string": "this"}]})");
  EXPECT_EQ(send("GET", "/api/v3/get?path=//tmp/d").body, R"({"list":[1,2,{"string":"this"}]})");
}

TEST_F(TreeCommands, TablesAreCreatedMountedAndWritten) {
  const std::string schema =
      R"([{"name":"k","type":"int64","sort_order":"ascending"},{"name":"v","type":"string"}])";
  const std::string id = id_of(result(
      "create", R"({"type":"table","path":"//tmp/t","attributes":{"dynamic":true,"schema":)" +
                    schema + "}}"));
  EXPECT_EQ(result("get", R"({"path":"//tmp/t/@id"})"), R"({"value":")" + id + "\"}");
  result("mount_table", R"({"path":"//tmp/t"})");
  EXPECT_EQ(result("get", R"({"path":"//tmp/t/@tablet_state"})"), R"({"value":"mounted"})");
  result("insert_rows", R"({"path":"//tmp/t"})", "{k=1;v=a}");
  EXPECT_EQ(result("lookup_rows", R"({"path":"#)" + id + "\"}", "{k=1}"),
            "{\"k\"=1;\"v\"=\"a\";};\n");
  EXPECT_EQ(result("select_rows", R"({"query":"* from [//tmp/t]"})"), "{\"k\"=1;\"v\"=\"a\";};\n");
}

TEST_F(TreeCommands, ATransactionIsSeenAtItsCommit) {
  const std::string tx = begin();
  const std::string in = R"("transaction_id":")" + tx + "\"";
  result("set", R"({"path":"//tmp/x",)" + in + "}", "1");
  EXPECT_EQ(result("exists", R"({"path":"//tmp/x"})"), R"({"value":false})");
  EXPECT_EQ(result("get", R"({"path":"//tmp/x",)" + in + "}"), R"({"value":1})");
  EXPECT_NE(error("set", R"({"path":"//tmp/x"})", "2").find(R"("code":402)"), std::string::npos);
  result("ping_transaction", "{" + in + "}");
  EXPECT_NE(result("commit_transaction", "{" + in + "}").find("primary_commit_timestamp"),
            std::string::npos);
  EXPECT_EQ(result("get", R"({"path":"//tmp/x"})"), R"({"value":1})");
  EXPECT_NE(error("commit_transaction", "{" + in + "}").find(R"("code":11000)"), std::string::npos);
}

TEST_F(TreeCommands, RepeatedMutationsReturnTheFirstResult) {
  const std::string create =
      R"({"type":"map_node","path":"//tmp/m","mutation_id":"1-2-3-4","retry":)";
  const std::string first = result("create", create + "false}");
  EXPECT_NE(error("create", create + "false}").find("Duplicate request is not marked"),
            std::string::npos);
  EXPECT_EQ(result("create", create + "true}"), first);
  const std::string over = begin();
  const std::string set =
      R"({"path":"//tmp/v","transaction_id":")" + over + R"(","mutation_id":"3-2-3-4","retry":)";
  EXPECT_EQ(result("set", set + "false}", "1"), "{}");
  result("abort_transaction", R"({"transaction_id":")" + over + "\"}");
  EXPECT_EQ(result("set", set + "true}", "1"), "{}") << "though its transaction is over";
  const std::string table =
      R"({"type":"table","path":"//tmp/t","attributes":{"dynamic":true,"schema":[)"
      R"({"name":"k","type":"int64","sort_order":"ascending"},{"name":"v","type":"int64"}]},)"
      R"("mutation_id":"2-2-3-4","retry":)";
  const std::string made = result("create", table + "false}");
  EXPECT_EQ(result("create", table + "true}"), made);
  const std::string commit =
      R"({"transaction_id":")" + begin() + R"(","mutation_id":"9-a-b-c","retry":)";
  const std::string committed = result("commit_transaction", commit + "false}");
  EXPECT_EQ(result("commit_transaction", commit + "true}"), committed);
  create_table("t", small_schema());
  const std::string unmount = R"({"path":"//t","mutation_id":"5-6-7-8","retry":)";
  EXPECT_EQ(result("unmount_table", unmount + "false}"), "{}");
  result("mount_table", R"({"path":"//t"})");
  EXPECT_EQ(result("unmount_table", unmount + "true}"), "{}") << "it is not done again";
  result("insert_rows", R"({"path":"//t"})", "{k=1;v=a}");
}

TEST_F(TreeCommands, BatchesGiveEveryRequestAMutation) {
  const std::string batch =
      R"({"mutation_id":"1-2-3-9","requests":[)"
      R"({"command":"create","parameters":{"type":"map_node","path":"//tmp/p"}},)"
      R"({"command":"set","parameters":{"path":"//tmp/p/q"},"input":7},)"
      R"({"command":"get","parameters":{"path":"//tmp/p/q"}}],"retry":)";
  const std::string first = result("execute_batch", batch + "false}");
  EXPECT_NE(first.find(R"({"output":{"value":7}})"), std::string::npos) << first;
  EXPECT_EQ(result("execute_batch", batch + "true}"), first);
}

TEST_F(TreeCommands, AccessesRenewTheTimeoutUnlessTheySaySo) {
  const std::string node =
      R"({"type":"map_node","attributes":{"expiration_timeout":3000},"path":")";
  for (const char* path : {"//used", "//watched"}) result("create", node + path + "\"}");
  const std::string watch = R"({"path":"//watched","suppress_expiration_timeout_renewal":"true"})";
  for (int i = 0; i < 2; ++i) {
    node_.world().run_for(1s);
    EXPECT_EQ(result("exists", watch), R"({"value":true})");
    EXPECT_EQ(result("exists", R"({"path":"//used"})"), R"({"value":true})");
  }
  node_.world().run_for(1500ms);
  EXPECT_EQ(result("exists", watch), R"({"value":false})");
  EXPECT_EQ(result("exists", R"({"path":"//used"})"), R"({"value":true})");
}

TEST_F(TreeCommands, AccessesThatAreNotTrackedLeaveTheAccessTime) {
  result("create", R"({"type":"map_node","path":"//m"})");
  const std::string quiet = R"({"path":"//m/@access_time","suppress_access_tracking":true})";
  const std::string first = result("get", quiet);
  node_.world().run_for(5s);
  EXPECT_EQ(result("get", quiet), first);
  result("get", R"({"path":"//m"})");
  EXPECT_NE(result("get", quiet), first);
}

}  // namespace
}  // namespace moraine::yt
