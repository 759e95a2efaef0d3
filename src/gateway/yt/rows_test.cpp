// Commands on rows of dynamic tables, over HTTP.
#include "gateway/yt/row_writes.h"
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class Rows : public YtTest {
 protected:
  Rows() { create_table("t", small_schema(), {{Value(100)}}); }

  std::string begin(std::size_t lane = 0) {
    const std::string answer = result("start_transaction", R"({"type":"tablet"})", {}, lane);
    return answer.substr(answer.find(":\"") + 2, answer.find("\"}") - answer.find(":\"") - 2);
  }
  std::string in(const std::string& transaction) {
    return R"({"path":"//t","input_format":"json","transaction_id":")" + transaction + "\"}";
  }
  std::string lookup(const std::string& keys, const std::string& more = "", std::size_t lane = 0) {
    return result("lookup_rows",
                  R"({"path":"//t","input_format":"json","output_format":"json")" + more + "}",
                  keys, lane);
  }
  const std::string json_ = R"({"path":"//t","input_format":"json"})";
};

TEST_F(Rows, InsertedRowsAreFoundInTheOrderOfTheRequest) {
  EXPECT_EQ(result("insert_rows", json_, R"({"k":1,"v":"a"} {"k":200,"v":"b"})"), "");
  EXPECT_EQ(lookup(R"({"k":200}{"k":7}{"k":1}{"k":200})", "", 1),
            "{\"k\":200,\"v\":\"b\"}\n{\"k\":1,\"v\":\"a\"}\n{\"k\":200,\"v\":\"b\"}\n");
  EXPECT_EQ(lookup(R"({"k":7}{"k":1})", R"(,"keep_missing_rows":true)"),
            "null\n{\"k\":1,\"v\":\"a\"}\n");
  EXPECT_EQ(lookup(R"({"k":1})", R"(,"column_names":["v"])"), "{\"v\":\"a\"}\n");
  EXPECT_EQ(lookup(R"({"k":1})", R"(,"column_names":["v","k"])"), "{\"k\":1,\"v\":\"a\"}\n");
  EXPECT_EQ(lookup(""), "");
}

TEST_F(Rows, TextYsonIsTheDefaultOfRows) {
  EXPECT_EQ(result("insert_rows", R"({"path":"//t"})", "{k=1;v=a};{k=2;v=#}"), "");
  EXPECT_EQ(result("lookup_rows", R"({"path":"//t"})", "{k=2};{k=1}"),
            "{\"k\"=2;\"v\"=#;};\n{\"k\"=1;\"v\"=\"a\";};\n");
}

TEST_F(Rows, DeletedRowsAreGone) {
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  EXPECT_EQ(result("delete_rows", json_, R"({"k":1}{"k":55})"), "{}");
  EXPECT_EQ(lookup(R"({"k":1})"), "");
}

TEST_F(Rows, WrongRowsAreRefusedAsAWhole) {
  const std::string unknown = error("insert_rows", json_, R"({"k":1,"v":"a"}{"k":2,"zz":1})");
  EXPECT_NE(unknown.find(R"("code":307)"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find(R"(No column \"zz\" in table schema)"), std::string::npos) << unknown;
  EXPECT_EQ(lookup(R"({"k":1})"), "");
  EXPECT_NE(error("insert_rows", json_, R"({"k":"x"})").find(R"("code":307)"), std::string::npos);
  EXPECT_NE(error("insert_rows", json_, R"({"k":1,"v":{"a":1}})").find(R"("code":307)"),
            std::string::npos);
  EXPECT_NE(error("insert_rows", json_, "[1]").find("a row must be a map"), std::string::npos);
  EXPECT_NE(error("insert_rows", json_, "{\"k\":").find(R"("code":4000)"), std::string::npos);
  EXPECT_NE(error("lookup_rows", json_, R"({"v":"a"})").find("not a key column"),
            std::string::npos);
}

TEST_F(Rows, UpdatesKeepOtherColumns) {
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  const std::string update = R"({"path":"//t","input_format":"json","update":"true"})";
  EXPECT_NE(error("insert_rows", update, R"({"k":1})")
                .find("At least one non-key column must be specified"),
            std::string::npos);
  result("insert_rows", json_, R"({"k":1})");
  EXPECT_EQ(lookup(R"({"k":1})"), "{\"k\":1,\"v\":null}\n");
}

TEST_F(Rows, ErrorsNameTheTableThatIsMissingOrNotMounted) {
  const std::string none = error("insert_rows", R"({"path":"//none","input_format":"json"})", "{}");
  EXPECT_NE(none.find(R"("code":500)"), std::string::npos) << none;
  ASSERT_TRUE(on_tables([](Tables& tables) { return tables.unmount("t"); }));
  EXPECT_NE(error("lookup_rows", json_, R"({"k":1})").find(R"("code":1702)"), std::string::npos);
  const std::string refused = error("insert_rows", json_, R"({"k":1})");
  EXPECT_NE(refused.find(R"("code":1702)"), std::string::npos) << refused;
}

TEST_F(Rows, TransactionsAreUsedFromEveryLane) {
  const std::string id = begin(1);
  result("insert_rows", in(id), R"({"k":1,"v":"a"})", 0);
  result("insert_rows", in(id), R"({"k":200,"v":"b"})", 1);
  EXPECT_EQ(lookup(R"({"k":1})"), "") << "not committed";
  const std::string committed = result("commit_transaction", R"({"transaction_id":")" + id + "\"}");
  EXPECT_NE(committed.find(R"({"primary_commit_timestamp":)"), std::string::npos) << committed;
  EXPECT_EQ(lookup(R"({"k":1}{"k":200})"), "{\"k\":1,\"v\":\"a\"}\n{\"k\":200,\"v\":\"b\"}\n");
  const std::string again = error("commit_transaction", R"({"transaction_id":")" + id + "\"}");
  EXPECT_NE(again.find(R"("code":11000)"), std::string::npos) << again;
  EXPECT_NE(again.find("is not found"), std::string::npos) << again;
}

TEST_F(Rows, ReadsInATransactionAreAtItsStart) {
  const std::string id = begin();
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  EXPECT_EQ(lookup(R"({"k":1})", R"(,"transaction_id":")" + id + "\""), "");
  EXPECT_EQ(lookup(R"({"k":1})"), "{\"k\":1,\"v\":\"a\"}\n");
}

TEST_F(Rows, OfTwoWritersOfARowTheSecondFails) {
  const std::string first = begin();
  const std::string second = begin(1);
  result("insert_rows", in(first), R"({"k":0,"v":"a"})");
  result("delete_rows", in(second), R"({"k":0})");
  result("commit_transaction", R"({"transaction_id":")" + first + "\"}");
  const std::string lost = error("commit_transaction", R"({"transaction_id":")" + second + "\"}");
  EXPECT_NE(lost.find(R"("code":1700)"), std::string::npos) << lost;
  EXPECT_NE(lost.find("Row lock conflict due to concurrent write"), std::string::npos) << lost;
}

TEST_F(Rows, LocksNeedATransactionAndConflict) {
  EXPECT_NE(error("lock_rows", json_, R"({"k":1})").find("/transaction_id"), std::string::npos);
  const std::string reader = begin();
  result("lock_rows", in(reader), R"({"k":1})");
  result("insert_rows", json_, R"({"k":1,"v":"w"})");
  EXPECT_NE(
      error("commit_transaction", R"({"transaction_id":")" + reader + "\"}").find(R"("code":1700)"),
      std::string::npos);
}

TEST_F(Rows, SharedWriteLocksConflictWithOthersOnly) {
  const auto locked = [this](const char* kind) {
    const std::string id = begin();
    result("lock_rows",
           fmt::format(R"({{"path":"//t","input_format":"json","lock_type":"{}",)"
                       R"("transaction_id":"{}"}})",
                       kind, id),
           R"({"k":1})");
    return R"({"transaction_id":")" + id + "\"}";
  };
  const std::string first = locked("shared_write");
  const std::string second = locked("shared_write");
  const std::string reader = locked("shared_weak");
  result("commit_transaction", first);
  result("commit_transaction", second);
  EXPECT_NE(error("commit_transaction", reader).find(R"("code":1700)"), std::string::npos);
  EXPECT_EQ(lookup(R"({"k":1})"), "") << "a lock makes no row";
}

TEST_F(Rows, TimestampsOfValuesAreColumns) {
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  const std::string stamps = R"(,"versioned_read_options":{"read_mode":"latest_timestamp"})";
  const std::string row = lookup(R"({"k":1})", stamps);
  EXPECT_TRUE(row.starts_with(R"({"k":1,"v":"a","$$timestamp:v":)")) << row;
  const std::string only = lookup(R"({"k":1})", stamps + R"(,"column_names":["$timestamp:v","k"])");
  EXPECT_TRUE(only.starts_with(R"({"k":1,"$$timestamp:v":)")) << only;
  const std::string names = R"({"path":"//t","input_format":"json","column_names":[)";
  for (const char* wrong : {"$timestamp:k", "$timestamp:zz", "$timestamp:"}) {
    EXPECT_NE(error("lookup_rows", names + "\"" + wrong + "\"]" + stamps + "}", R"({"k":1})")
                  .find("No such column"),
              std::string::npos);
  }
  EXPECT_NE(
      error("lookup_rows", names + R"("$timestamp:v"]})", R"({"k":1})").find("No such column"),
      std::string::npos);
}

TEST_F(Rows, UsedTablesDoNotExpire) {
  result("set", R"({"path":"//t/@expiration_timeout"})", "3000");
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  for (int i = 0; i < 8; ++i) {
    node_.world().run_for(1s);
    EXPECT_EQ(lookup(R"({"k":1})"), "{\"k\":1,\"v\":\"a\"}\n");
  }
  node_.world().run_for(6s);
  EXPECT_EQ(result("exists", R"({"path":"//t"})"), R"({"value":false})");
}

TEST_F(Rows, UnusedTransactionsExpireAndPingsKeepThem) {
  const auto id_of = [this](const std::string& json) {
    const std::string answer = result("start_transaction", json);
    return answer.substr(answer.find(":\"") + 2, answer.find("\"}") - answer.find(":\"") - 2);
  };
  const std::string id = id_of(R"({"type":"tablet","timeout":2000})");
  for (int i = 0; i < 4; ++i) {
    node_.world().run_for(1s);
    result("ping_transaction", R"({"transaction_id":")" + id + "\"}");
  }
  node_.world().run_for(3s);
  EXPECT_NE(
      error("ping_transaction", R"({"transaction_id":")" + id + "\"}").find(R"("code":11000)"),
      std::string::npos);
}

TEST_F(Rows, AbortedTransactionsChangeNothing) {
  const std::string id = begin();
  result("insert_rows", in(id), R"({"k":1,"v":"a"})");
  EXPECT_EQ(result("abort_transaction", R"({"transaction_id":")" + id + "\"}"), "{}");
  EXPECT_EQ(lookup(R"({"k":1})"), "");
}

TEST_F(Rows, AllVersionsOfARow) {
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  result("insert_rows", json_, R"({"k":1,"v":"b"})");
  const std::string row =
      result("lookup_rows", R"({"path":"//t","input_format":"json","versioned":true})",
             R"({"k":1}{"k":2})");
  EXPECT_TRUE(row.starts_with("<\"write_timestamps\"=[")) << row;
  EXPECT_NE(row.find(R"("delete_timestamps"=[];>{"k"=1;"v"=[<"timestamp"=)"), std::string::npos)
      << row;
  EXPECT_LT(row.find(R"(>"b")"), row.find(R"(>"a")")) << row;
  EXPECT_EQ(row.find(R"("k"=2)"), row.npos);
}

TEST_F(Rows, ManyRowsStreamInBothDirections) {
  constexpr int kRows = 20'000;
  std::string rows;
  std::string keys;
  for (int i = 0; i < kRows; ++i) {
    rows += fmt::format("{{\"k\":{},\"v\":\"{}\"}}\n", i, std::string(50, 'x'));
    keys += fmt::format("{{\"k\":{}}}\n", i);
  }
  result("insert_rows", json_, rows);
  const Response response =
      send("PUT", "/api/v4/lookup_rows",
           {{"X-YT-Parameters", R"({"path":"//t","input_format":"json","output_format":"json"})"}},
           keys);
  EXPECT_EQ(response.field("transfer-encoding"), "chunked");
  EXPECT_EQ(response.body, rows);
}

TEST_F(Rows, AnErrorAfterTheFirstByteIsInTheTrailers) {
  constexpr int kRows = 20'000;
  std::string rows;
  std::string keys;
  for (int i = 0; i < kRows; ++i) {
    rows += fmt::format("{{\"k\":{},\"v\":\"{}\"}}\n", i, std::string(50, 'x'));
    keys += fmt::format("{{\"k\":{}}}\n", i);
  }
  result("insert_rows", json_, rows);
  const Response response =
      send("PUT", "/api/v4/lookup_rows",
           {{"X-YT-Parameters", R"({"path":"//t","input_format":"json","output_format":"json"})"}},
           keys + "{\"zz\":1}");
  EXPECT_EQ(response.status, 200u);
  EXPECT_EQ(response.field("x-yt-response-code"), "307");
  EXPECT_NE(response.field("x-yt-error").find("No column"), std::string::npos);
}

TEST_F(Rows, FramesHoldTheSameBytes) {
  result("insert_rows", json_, R"({"k":1,"v":"a"})");
  const Response response =
      send("PUT", "/api/v4/lookup_rows",
           {{"X-YT-Parameters", R"({"path":"//t"})"}, {"X-YT-Accept-Framing", "1"}}, "{k=1}");
  EXPECT_EQ(response.field("x-yt-framing"), "1");
  const std::string row = "{\"k\"=1;\"v\"=\"a\";};\n";
  EXPECT_EQ(response.body,
            std::string("\x01") + static_cast<char>(row.size()) + std::string(3, '\0') + row);
}

}  // namespace
}  // namespace moraine::yt
