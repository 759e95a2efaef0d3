// The numbers of the errors that clients decide by, each from the layer that makes it: they follow
// from texts (error.cpp), so a text that changes fails here.
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class ErrorCodes : public YtTest {
 protected:
  ErrorCodes() { create_table("t", small_schema()); }

  static int code_of(const std::string& body) {
    const std::string begin = "{\"code\":";
    return body.starts_with(begin) ? std::stoi(body.substr(begin.size())) : 0;
  }
  int code(const std::string& name, const std::string& json, std::string body = {}) {
    const std::string text = error(name, json, std::move(body));
    EXPECT_NE(code_of(text), 0) << text;
    last_ = text;
    return code_of(text);
  }
  std::string begin(const std::string& parameters = "{}") {
    const std::string made = result("start_transaction", parameters);
    const std::size_t at = made.find(":\"") + 2;
    return made.substr(at, made.find('"', at) - at);
  }
  std::string in(const std::string& transaction, const std::string& path,
                 const std::string& more = {}) {
    return fmt::format(R"({{"path":"{}","transaction_id":"{}"{}}})", path, transaction, more);
  }

  std::string last_;
};

TEST_F(ErrorCodes, OfRows) {
  const std::string t = R"({"path":"//t"})";
  EXPECT_EQ(code("insert_rows", t, "{k=1;none=1}"), 307);
  EXPECT_EQ(code("insert_rows", t, "{k=x;v=a}"), 307);
  EXPECT_EQ(code("insert_rows", t, "{k=1;v=5}"), 307);
  EXPECT_EQ(code("insert_rows", t, "{k=1;v=a;v=b}"), 322);
  EXPECT_EQ(code("insert_rows", t, "{k=1"), 4000);
  EXPECT_EQ(code("lookup_rows", R"({"path":"//t","retention_timestamp":9,"timestamp":8})", "{k=1}"),
            313);
  EXPECT_EQ(code("lookup_rows", R"({"path":"//t","timestamp":18446744073709551615})", "{k=1}"), 313)
      << last_;
  EXPECT_EQ(code("lookup_rows", R"({"path":"//t","column_names":["x"]})", "{k=1}"), 307);
  EXPECT_EQ(code("insert_rows", in("1-2-3-4", "//t"), "{k=1;v=a}"), 11000);
  const std::string first = begin(R"({"type":"tablet"})");
  const std::string second = begin(R"({"type":"tablet"})");
  result("insert_rows", in(first, "//t"), "{k=1;v=\" is over\"}");
  result("insert_rows", in(second, "//t"), "{k=1;v=b}");
  result("commit_transaction", in(first, "//t"));
  EXPECT_EQ(code("commit_transaction", in(second, "//t")), 1700) << last_;
  EXPECT_EQ(code("commit_transaction", in(second, "//t")), 11000);
}

TEST_F(ErrorCodes, OfTablets) {
  EXPECT_EQ(code("alter_table", R"({"path":"//t","dynamic":false})"), 1);
  EXPECT_EQ(code("reshard_table", R"({"path":"//t","tablet_count":2})"), 1706) << last_;
  result("freeze_table", R"({"path":"//t"})");
  EXPECT_EQ(code("insert_rows", R"({"path":"//t"})", "{k=1;v=a}"), 1702) << last_;
  result("unmount_table", R"({"path":"//t"})");
  EXPECT_EQ(code("lookup_rows", R"({"path":"//t"})", "{k=1}"), 1702) << last_;
  EXPECT_EQ(code("insert_rows", R"({"path":"//t"})", "{k=1;v=a}"), 1702) << last_;
}

TEST_F(ErrorCodes, OfQueries) {
  result("insert_rows", R"({"path":"//t"})", "{k=1;v=a};{k=2;v=b};{k=3;v=c}");
  EXPECT_EQ(code("select_rows", R"({"query":"* from [//t]","input_row_limit":1})"), 1709) << last_;
  EXPECT_EQ(code("select_rows", R"({"query":"* from [//t]","output_row_limit":1})"), 1710) << last_;
  EXPECT_EQ(code("select_rows", R"({"query":"* from [//none]"})"), 500) << last_;
  EXPECT_EQ(code("select_rows", R"({"query":"nonsense"})"), 1);
  // A name in a text decides nothing.
  EXPECT_EQ(code("select_rows", R"({"query":"timestamp_floor_day(v) from [//t]"})"), 1) << last_;
  const std::string deep = std::string(200, '(') + "k" + std::string(200, ')');
  EXPECT_EQ(code("select_rows", R"({"query":")" + deep + R"( from [//t]"})"), 1711) << last_;
}

TEST_F(ErrorCodes, OfTheTree) {
  EXPECT_EQ(code("get", R"({"path":"//tmp/none"})"), 500);
  EXPECT_EQ(code("create", R"({"type":"map_node","path":"//tmp"})"), 501);
  // Names that say something else.
  const std::string path = "//tmp/pending descendant by same transaction";
  result("create", R"({"type":"map_node","path":")" + path + "/a\",\"recursive\":true}");
  EXPECT_EQ(code("remove", R"({"path":")" + path + R"(","recursive":false})"), 506) << last_;
  const std::string first = begin();
  const std::string second = begin();
  const std::string nested = begin(R"({"transaction_id":")" + first + "\"}");
  result("lock", in(first, "//tmp/pending descendant by same transaction"));
  EXPECT_EQ(code("lock", in(second, path)), 402) << last_;
  EXPECT_EQ(code("lock", in(first, path, R"(,"mode":"snapshot")")), 400) << last_;
  EXPECT_EQ(code("ping_transaction", R"({"transaction_id":"1-2-3-4"})"), 11000);
  result("lock", in(nested, "//tmp"));
  EXPECT_EQ(code("lock", in(first, "//tmp")), 401) << last_;
}

}  // namespace
}  // namespace moraine::yt
