// read_table and write_table, over HTTP.
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class StaticTables : public YtTest {
 protected:
  void create_static(const std::string& path, TableSchema schema) {
    ASSERT_TRUE(on_tables([&](Tables& tables) {
      NewTable table;
      table.schema = std::move(schema);
      table.dynamic = false;
      table.state = MountState::kFrozen;
      return tables.create(path, std::move(table));
    }));
  }
  static TableSchema unsorted() {
    TableSchema schema = small_schema();
    schema.columns[0].key = false;
    schema.unique_keys = false;
    return schema;
  }
  std::string write(const std::string& path, const std::string& rows) {
    return result("write_table", R"({"path":")" + path + "\"}", rows);
  }
  std::string read(const std::string& path) {
    return result("read_table", R"({"output_format":"json","path":")" + path + "\"}");
  }
};

TEST_F(StaticTables, RowsAreInTheOrderOfTheirWrites) {
  create_static("s", unsorted());
  EXPECT_EQ(read("//s"), "");
  EXPECT_EQ(write("//s", "{k=2;v=b};{k=1;v=a}"), "{}");
  EXPECT_EQ(write("<append=%true>//s", "{k=3}"), "{}");
  EXPECT_EQ(read("//s"), "{\"k\":2,\"v\":\"b\"}\n{\"k\":1,\"v\":\"a\"}\n{\"k\":3,\"v\":null}\n");
  EXPECT_EQ(read("//s[#1:#2]"), "{\"k\":1,\"v\":\"a\"}\n");
  EXPECT_EQ(read("//s[#2]"), "{\"k\":3,\"v\":null}\n");
  EXPECT_EQ(read("//s{v}[#1:,#0:#1]"), "{\"v\":\"a\"}\n{\"v\":null}\n{\"v\":\"b\"}\n");
  EXPECT_EQ(read("//s{zzz}[:#2]"), "{}\n{}\n");
  EXPECT_EQ(read("//s[#5:#3]"), "");
  EXPECT_NE(error("read_table", R"({"path":"//s[1:2]"})").find("not sorted"), std::string::npos);
}

TEST_F(StaticTables, AWriteReplacesTheRowsUnlessItAppends) {
  create_static("s", unsorted());
  write("//s", "{k=1};{k=2}");
  write("//s", "{k=3}");
  EXPECT_EQ(read("//s{k}"), "{\"k\":3}\n");
  write("//s", "");
  EXPECT_EQ(read("//s"), "");
  write("<append=%true>//s", "{k=4}");
  EXPECT_EQ(read("//s{k}"), "{\"k\":4}\n");
  node_.restart();
}

TEST_F(StaticTables, RowsByKeys) {
  TableSchema schema = small_schema();
  schema.columns[1].key = true;
  ColumnSchema value;
  value.name = "w";
  value.type = ColumnType::kInt64;
  schema.columns.push_back(value);
  schema.unique_keys = false;
  create_static("s", schema);
  EXPECT_NE(error("write_table", R"({"path":"//s"})", "{k=2};{k=1}").find(R"("code":301)"),
            std::string::npos);
  write("//s", "{k=1;v=a;w=1};{k=1;v=a;w=2};{k=1;v=b;w=3};{k=2;v=a;w=4};{k=3;w=5}");
  EXPECT_EQ(read("//s{w}[(1,b):3]"), "{\"w\":3}\n{\"w\":4}\n");
  EXPECT_EQ(read("//s{w}[1]"), "{\"w\":1}\n{\"w\":2}\n{\"w\":3}\n");
  EXPECT_EQ(read("//s{w}[(1,a)]"), "{\"w\":1}\n{\"w\":2}\n");
  EXPECT_EQ(read("//s{w}[(1,<type=max>#):]"), "{\"w\":4}\n{\"w\":5}\n");
  EXPECT_EQ(read("//s{w}[#1:#3]"), "{\"w\":2}\n{\"w\":3}\n");
  EXPECT_EQ(read("//s{w}[#1:3]"), "{\"w\":2}\n{\"w\":3}\n{\"w\":4}\n");
  EXPECT_EQ(read("//s{w}[3u:]"), "") << "every int64 is less than a uint64";
}

TEST_F(StaticTables, RowsOfDynamicTables) {
  create_table("t", small_schema());
  result("insert_rows", R"({"path":"//t"})", "{k=1;v=a};{k=5;v=b};{k=9;v=c}");
  result("freeze_table", R"({"path":"//t"})");
  EXPECT_EQ(read("//t[2:9]"), "{\"k\":5,\"v\":\"b\"}\n");
  EXPECT_NE(error("read_table", R"({"path":"//t[#5:]"})")
                .find("Row index selectors are not supported for sorted dynamic"),
            std::string::npos);
  EXPECT_NE(error("write_table", R"({"path":"//t"})", "{k=1}").find("not supported for dynamic"),
            std::string::npos);
  const Response response =
      send("GET", "/api/v3/read_table?path=//t", {{"X-YT-Header-Format", "<format=text>yson"}});
  EXPECT_EQ(
      response.field("x-yt-response-parameters"),
      R"({"start_row_index"=0;"approximate_row_count"=3;"omitted_inaccessible_columns"=[];})");
  EXPECT_EQ(response.body,
            "{\"k\"=1;\"v\"=\"a\";};\n{\"k\"=5;\"v\"=\"b\";};\n{\"k\"=9;\"v\"=\"c\";};\n");
}

TEST_F(StaticTables, WeakOnesKeepColumnsThatTheSchemaDoesNotName) {
  result("create", R"({"path":"//weak","type":"table"})");
  EXPECT_EQ(result("get", R"({"path":"//weak/@schema_mode"})"), R"({"value":"weak"})");
  write("//weak", "{a=1;b=x};{c=[1;{d=2u}];a=%true};{}");
  EXPECT_EQ(read("//weak"), "{\"a\":1,\"b\":\"x\"}\n{\"a\":true,\"c\":[1,{\"d\":2}]}\n{}\n");
  EXPECT_EQ(read("//weak{c,zzz}[#1:#3]"), "{\"c\":[1,{\"d\":2}]}\n{}\n");
  write("<append=%true>//weak", "{b=#;e=<x=1>5}");
  EXPECT_EQ(read("//weak[#3:]"), "{\"b\":null,\"e\":{\"$attributes\":{\"x\":1},\"$value\":5}}\n");
  EXPECT_NE(error("write_table", R"({"path":"//weak"})", "{a=1;a=2}").find("given twice"),
            std::string::npos);
  close();
  node_.restart();
  open();
  node_.world().run_for(5s);
  EXPECT_EQ(read("//weak[#0]"), "{\"a\":1,\"b\":\"x\"}\n");
}

TEST_F(StaticTables, WeakOnesWithAKeyAreSorted) {
  TableSchema schema = small_schema();
  schema.strict = false;
  schema.unique_keys = true;
  create_static("s", schema);
  EXPECT_NE(error("write_table", R"({"path":"//s"})", "{k=2};{k=1}").find(R"("code":301)"),
            std::string::npos);
  write("//s", "{k=1;v=a;other=5};{k=2}");
  EXPECT_EQ(read("//s[1]"), "{\"k\":1,\"v\":\"a\",\"other\":5}\n");
  EXPECT_EQ(read("//s{other}"), "{\"other\":5}\n{}\n");
  EXPECT_NE(error("alter_table", R"({"path":"//s","dynamic":true})").find("strict"),
            std::string::npos);
}

TEST_F(StaticTables, WithoutAnyColumnHaveEmptyRows) {
  TableSchema none;
  none.unique_keys = false;
  create_static("s", none);
  write("//s", "{};{};{}");
  EXPECT_EQ(read("//s[#1:]"), "{}\n{}\n");
}

class DynamicReads : public StaticTables {
 protected:
  DynamicReads() { create_table("t", small_schema()); }

  void insert(const std::string& rows) { result("insert_rows", R"({"path":"//t"})", rows); }
  void tablets(const std::string& command) { result(command, R"({"path":"//t"})"); }
  std::string keys(const std::string& path = "//t{k}", const std::string& more = {}) {
    return result("read_table", R"({"output_format":"json","path":")" + path + '"' + more + "}");
  }
  std::string begin() {
    const std::string answer = result("start_transaction", R"({"type":"master"})");
    const std::size_t from = answer.find(":\"") + 2;
    return answer.substr(from, answer.find('"', from) - from);
  }
  static std::string in(const std::string& transaction) {
    return R"(,"transaction_id":")" + transaction + '"';
  }
};

TEST_F(DynamicReads, OnlyWhatWasFlushedIsRead) {
  insert("{k=1}");
  EXPECT_EQ(keys(), "");
  tablets("freeze_table");
  EXPECT_EQ(keys(), "{\"k\":1}\n");
  tablets("unfreeze_table");
  insert("{k=2}");
  EXPECT_EQ(keys(), "{\"k\":1}\n");
  EXPECT_NE(error("read_table", R"({"path":"<timestamp=2305843009213693952>//t"})")
                .find("Requested timestamp is out of range for table"),
            std::string::npos);
}

TEST_F(DynamicReads, RowsInMemoryAreReadOnDemand) {
  tablets("unmount_table");
  result("set", R"({"path":"//t/@enable_dynamic_store_read","input_format":"json"})", "true");
  tablets("mount_table");
  insert("{k=1}");
  EXPECT_EQ(keys(), "{\"k\":1}\n");
}

TEST_F(DynamicReads, ATableThatIsNotMountedIsRead) {
  insert("{k=1;v=a};{k=5;v=b};{k=9;v=c}");
  tablets("unmount_table");
  EXPECT_EQ(keys(), "{\"k\":1}\n{\"k\":5}\n{\"k\":9}\n");
  EXPECT_EQ(read("//t[2:9]"), "{\"k\":5,\"v\":\"b\"}\n");
  EXPECT_NE(error("lookup_rows", R"({"path":"//t"})", "{k=1}").find("\"code\":1702"),
            std::string::npos)
      << "other reads need a mounted table";
  tablets("mount_table");
  insert("{k=0}");
  tablets("unmount_table");
  EXPECT_EQ(keys("//t{k}[:5]"), "{\"k\":0}\n{\"k\":1}\n");
}

TEST_F(DynamicReads, ASnapshotLockKeepsWhatWasFlushed) {
  insert("{k=1}");
  tablets("freeze_table");
  tablets("unfreeze_table");
  const std::string locked = begin();
  result("lock", R"({"path":"//t","mode":"snapshot")" + in(locked) + "}");
  insert("{k=2};{k=1;v=x}");
  tablets("unmount_table");
  EXPECT_EQ(keys(), "{\"k\":1}\n{\"k\":2}\n");
  EXPECT_EQ(keys("//t", in(locked)), "{\"k\":1,\"v\":null}\n");
  EXPECT_NE(
      error("read_table", R"({"path":"<timestamp=2305843009213693952>//t")" + in(locked) + "}")
          .find("Requested timestamp is out of range for table"),
      std::string::npos);
}

TEST_F(DynamicReads, ARemovedTableIsReadUnderASnapshotLock) {
  insert("{k=1}");
  tablets("unmount_table");
  const std::string id = result("get", R"({"path":"//t/@id","output_format":"json"})");
  const std::string locked = begin();
  result("lock", R"({"path":"//t","mode":"snapshot")" + in(locked) + "}");
  result("remove", R"({"path":"//t"})");
  node_.world().run_for(10s);
  const std::size_t from = id.find(":\"") + 2;
  const std::string path = "#" + id.substr(from, id.find('"', from) - from);
  EXPECT_EQ(keys(path, in(locked)), "{\"k\":1,\"v\":null}\n");
  error("read_table", R"({"path":"//t"})");
  result("abort_transaction", R"({"transaction_id":")" + locked + "\"}");
  error("read_table", R"({"path":")" + path + "\"}");
}

TEST_F(StaticTables, ASnapshotLockKeepsTheRowsOfAStaticTable) {
  create_static("s", unsorted());
  write("//s", "{k=1}");
  const std::string answer = result("start_transaction", R"({"type":"master"})");
  const std::size_t from = answer.find(":\"") + 2;
  const std::string locked =
      R"(,"transaction_id":")" + answer.substr(from, answer.find('"', from) - from) + "\"}";
  result("lock", R"({"path":"//s","mode":"snapshot")" + locked);
  write("<append=%true>//s", "{k=2}");
  const std::string in_transaction = R"({"path":"//s{k}","output_format":"json")" + locked;
  EXPECT_EQ(result("read_table", in_transaction), "{\"k\":1}\n");
  EXPECT_EQ(read("//s{k}"), "{\"k\":1}\n{\"k\":2}\n");
  write("//s", "{k=3}");
  EXPECT_NE(error("read_table", in_transaction).find("retained timestamp"), std::string::npos)
      << "replaced rows are gone";
}

TEST_F(StaticTables, AreConcatenated) {
  create_static("a", unsorted());
  create_static("b", unsorted());
  create_static("c", unsorted());
  write("//a", "{k=3;v=x};{k=1}");
  write("//b", "{k=2}");
  write("//c", "{k=9}");
  const std::string sources = R"({"source_paths":["//a","//b"],"destination_path":)";
  EXPECT_EQ(result("concatenate", sources + R"("<append=%true>//c"})"), "{}");
  EXPECT_EQ(read("//c{k}"), "{\"k\":9}\n{\"k\":3}\n{\"k\":1}\n{\"k\":2}\n");
  EXPECT_EQ(result("concatenate", sources + R"("//a"})"), "{}") << "into one of the sources";
  EXPECT_EQ(read("//a"), "{\"k\":3,\"v\":\"x\"}\n{\"k\":1,\"v\":null}\n{\"k\":2,\"v\":null}\n");
  TableSchema sorted = small_schema();
  sorted.unique_keys = false;
  create_static("d", sorted);
  EXPECT_NE(error("concatenate", sources + R"("//d"})").find("Sort order violation"),
            std::string::npos);
  EXPECT_EQ(read("//d"), "");
  create_table("t", small_schema());
  EXPECT_NE(error("concatenate", sources + R"("//t"})").find("dynamic"), std::string::npos);
  error("concatenate", R"({"source_paths":"//a","destination_path":"//c"})");
  error("concatenate", R"({"source_paths":["//a[#1:]"],"destination_path":"//c"})");
  error("concatenate", R"({"source_paths":["//zzz"],"destination_path":"//c"})");
}

TEST_F(StaticTables, RangesAndRowsAreNumberedOnDemand) {
  create_static("s", unsorted());
  write("//s", "{k=1};{k=2};{k=3}");
  EXPECT_EQ(result("read_table",
                   R"({"path":"//s{k}[#1:#2,#0:#2]",)"
                   R"("control_attributes":{"enable_row_index":true,"enable_range_index":true}})"),
            "<\"range_index\"=0;\"row_index\"=1;>#;\n{\"k\"=2;};\n"
            "<\"range_index\"=1;\"row_index\"=0;>#;\n{\"k\"=1;};\n{\"k\"=2;};\n");
}

TEST_F(StaticTables, WrongRowsChangeNothing) {
  create_static("s", unsorted());
  write("//s", "{k=1}");
  EXPECT_NE(error("write_table", R"({"path":"//s"})", "{k=2};{zz=1}").find(R"("code":307)"),
            std::string::npos);
  EXPECT_EQ(read("//s{k}"), "{\"k\":1}\n");
}

TEST_F(StaticTables, ATableThatBecameDynamicWaitsForAMount) {
  TableSchema schema = small_schema();
  schema.unique_keys = true;
  create_static("s", schema);
  write("//s", "{k=1;v=a}");
  EXPECT_EQ(result("alter_table", R"({"path":"//s","dynamic":true})"), "{}");
  EXPECT_NE(error("lookup_rows", R"({"path":"//s"})", "{k=1}").find(R"("code":1702)"),
            std::string::npos);
  result("mount_table", R"({"path":"//s"})");
  EXPECT_EQ(result("lookup_rows", R"({"path":"//s"})", "{k=1}"), "{\"k\"=1;\"v\"=\"a\";};\n");
}

TEST_F(StaticTables, LongTablesStream) {
  create_static("s", unsorted());
  std::string rows;
  for (int i = 0; i < 20'000; ++i)
    rows += fmt::format("{{\"k\"={};\"v\"=\"{}\";}};\n", i, std::string(40, 'y'));
  write("//s", rows);
  const Response whole = call("read_table", R"({"path":"//s"})");
  EXPECT_EQ(whole.field("transfer-encoding"), "chunked");
  EXPECT_TRUE(whole.body == rows);
  const Response zipped = send("GET", "/api/v4/read_table?path=//s", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(zipped.field("content-encoding"), "gzip");
  EXPECT_LT(zipped.body.size(), rows.size() / 4);
}

}  // namespace
}  // namespace moraine::yt
