// Ordered tables over HTTP: rows are appended, read by their places, and trimmed.
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class OrderedTables : public YtTest {
 protected:
  void create(std::size_t tablets) {
    result("create",
           fmt::format(R"({{"path":"//o","type":"table","attributes":{{"dynamic":true,)"
                       R"("enable_dynamic_store_read":true,)"
                       R"("tablet_count":{},"schema":[{{"name":"v","type":"string"}}]}}}})",
                       tablets));
    result("mount_table", R"({"path":"//o"})");
  }
  std::string insert(const std::string& rows) {
    return result("insert_rows", R"({"path":"//o"})", rows);
  }
  std::string read(const std::string& path) {
    return result("read_table", R"({"output_format":"json","path":")" + path + "\"}");
  }
  std::string infos(const std::string& indexes) {
    return result("get_tablet_infos", R"({"path":"//o","tablet_indexes":)" + indexes + "}");
  }
};

TEST_F(OrderedTables, RowsAreNumberedAsTheyAreWritten) {
  create(1);
  insert("{v=a};{v=b}");
  insert(R"({v=c;"$tablet_index"=0};{})");
  EXPECT_EQ(read("//o"), "{\"v\":\"a\"}\n{\"v\":\"b\"}\n{\"v\":\"c\"}\n{\"v\":null}\n");
  EXPECT_EQ(read("//o[#1:#3]"), "{\"v\":\"b\"}\n{\"v\":\"c\"}\n");
  EXPECT_EQ(read(R"(//o{v,\"$row_index\"}[#2])"), "{\"$$row_index\":2,\"v\":\"c\"}\n");
  EXPECT_EQ(
      result("select_rows", R"({"query":"[$row_index], v from [//o] where [$row_index] = 1"})"),
      "{\"$row_index\"=1;\"v\"=\"b\";};\n");
}

TEST_F(OrderedTables, TabletsAreReadByTheirIndexes) {
  create(3);
  insert(R"({v=a;"$tablet_index"=0};{v=b;"$tablet_index"=1};{v=c;"$tablet_index"=1})");
  insert(R"({v=d;"$tablet_index"=2})");
  EXPECT_EQ(read("<ranges=[{exact={tablet_index=1}}]>//o"), "{\"v\":\"b\"}\n{\"v\":\"c\"}\n");
  EXPECT_EQ(read("<ranges=[{lower_limit={tablet_index=1;row_index=1};"
                 "upper_limit={tablet_index=2;row_index=1}}]>//o"),
            "{\"v\":\"c\"}\n{\"v\":\"d\"}\n");
  EXPECT_EQ(read("<ranges=[{lower_limit={tablet_index=2};upper_limit={tablet_index=1}}]>//o"), "");
  EXPECT_EQ(result("read_table", R"({"path":"//o","control_attributes":{"enable_row_index":true,)"
                                 R"("enable_tablet_index":true}})"),
            "<\"tablet_index\"=0;\"row_index\"=0;>#;\n{\"v\"=\"a\";};\n"
            "<\"tablet_index\"=1;\"row_index\"=0;>#;\n{\"v\"=\"b\";};\n{\"v\"=\"c\";};\n"
            "<\"tablet_index\"=2;\"row_index\"=0;>#;\n{\"v\"=\"d\";};\n");
  EXPECT_NE(error("read_table", R"({"path":"//o[#1:]"})").find("needs a tablet index"),
            std::string::npos);
  EXPECT_NE(error("read_table", R"({"path":"//o[(1):]"})").find(R"("code":1716)"),
            std::string::npos);
}

TEST_F(OrderedTables, TrimmedRowsAreGoneAndTheNumbersStay) {
  create(2);
  insert(R"({v=a;"$tablet_index"=1};{v=b;"$tablet_index"=1};{v=c;"$tablet_index"=1})");
  EXPECT_EQ(result("trim_rows", R"({"path":"//o","tablet_index":1,"trimmed_row_count":2})"), "{}");
  const std::string text = infos("[1,0]");
  EXPECT_NE(text.find(R"("total_row_count":3,"trimmed_row_count":2)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("total_row_count":0,"trimmed_row_count":0)"), std::string::npos) << text;
  EXPECT_EQ(read("//o"), "{\"v\":\"c\"}\n");
  EXPECT_NE(error("trim_rows", R"({"path":"//o","tablet_index":1,"trimmed_row_count":9})")
                .find("only has 3 row(s)"),
            std::string::npos);
  EXPECT_NE(error("trim_rows", R"({"path":"//o","tablet_index":7,"trimmed_row_count":0})")
                .find("Invalid tablet index"),
            std::string::npos);
  error("trim_rows", R"({"path":"//o","tablet_index":1})");
}

TEST_F(OrderedTables, RowsAreNeitherChangedNorDeleted) {
  create(1);
  EXPECT_NE(error("delete_rows", R"({"path":"//o"})", R"({"$tablet_index"=0;"$row_index"=0})")
                .find("ordered table"),
            std::string::npos);
  EXPECT_NE(error("insert_rows", R"({"path":"//o","update":true})", "{v=a}").find("ordered table"),
            std::string::npos);
  EXPECT_NE(error("insert_rows", R"({"path":"//o"})", R"({"$row_index"=5;v=a})").find("filled in"),
            std::string::npos);
}

}  // namespace
}  // namespace moraine::yt
