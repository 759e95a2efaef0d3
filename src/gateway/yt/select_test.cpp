// select_rows and explain_query, over HTTP.
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class Selects : public YtTest {
 protected:
  Selects() {
    TableSchema schema = small_schema();
    schema.columns[1].type = ColumnType::kInt64;
    create_table("q", schema, {{Value(5)}});
    std::string rows;
    for (int i = 1; i < 10; ++i) rows += fmt::format("{{k={};v={}}};", i, i * 10);
    result("insert_rows", R"({"path":"//q"})", rows);
  }
  std::string select(const std::string& query, const std::string& more = "") {
    return result("select_rows", R"({"query":")" + query + "\"" + more + "}");
  }
};

TEST_F(Selects, RowsAndGroups) {
  EXPECT_EQ(select("* from [//q] limit 1"), "{\"k\"=1;\"v\"=10;};\n");
  EXPECT_EQ(select("k, v + 1 as w from [//q] where k = 7"), "{\"k\"=7;\"w\"=71;};\n");
  EXPECT_EQ(select("sum(v) as s from [//q] group by 1 as one"), "{\"s\"=450;};\n");
  EXPECT_EQ(select("k from [//q] where k in {list} order by k limit 10",
                   R"(,"placeholder_values":{"list":[3,8]})"),
            "{\"k\"=3;};\n{\"k\"=8;};\n");
}

TEST_F(Selects, ErrorsSayWhatIsWrong) {
  EXPECT_NE(error("select_rows", "{}").find("/query"), std::string::npos);
  EXPECT_NE(error("select_rows", R"({"query":"abcdef"})").find(R"("code":1)"), std::string::npos);
  EXPECT_NE(error("select_rows", R"({"query":"* from [//none]"})").find(R"("code":500)"),
            std::string::npos);
  EXPECT_NE(error("select_rows", R"({"query":"* from [//q]","allow_full_scan":false})")
                .find("Primary table key is not used in the where clause"),
            std::string::npos);
  EXPECT_NE(error("select_rows", R"({"query":"* from [//q]","output_row_limit":2})")
                .find(R"("code":1710)"),
            std::string::npos);
  EXPECT_NE(error("select_rows", R"({"query":"* from [//q]","input_row_limit":2})")
                .find(R"("code":1709)"),
            std::string::npos);
}

TEST_F(Selects, StatisticsAreInTheHeader) {
  const std::string query = R"({"query":"sum(v) as s from [//q] group by 1 as one")";
  const Response with = call("select_rows", query + R"(,"enable_statistics":true})");
  EXPECT_NE(with.field("x-yt-response-parameters").find(R"("rows_read":9)"), std::string::npos)
      << with.field("x-yt-response-parameters");
  EXPECT_EQ(call("select_rows", query + "}").field("x-yt-response-parameters"), "{}");
}

TEST_F(Selects, ATransactionReadsAtItsStart) {
  const std::string answer = result("start_transaction", R"({"type":"tablet"})");
  const std::string id =
      answer.substr(answer.find(":\"") + 2, answer.find("\"}") - answer.find(":\"") - 2);
  result("insert_rows", R"({"path":"//q"})", "{k=100;v=1}");
  const std::string query = "k from [//q] where k > 9";
  EXPECT_EQ(select(query, R"(,"transaction_id":")" + id + "\""), "");
  EXPECT_EQ(select(query), "{\"k\"=100;};\n");
}

TEST_F(Selects, ExplainHasThePlan) {
  const std::string query = R"({"query":"* from [//q] where k = 1")";
  const std::string plan = result("explain_query", query + "}");
  for (const char* field : {"query", "subqueries", "top_query", "where_expression"}) {
    EXPECT_TRUE(plan.contains(field)) << plan;
  }
  EXPECT_TRUE(plan.contains(R"(["[1]","[1, <max>]"])")) << plan;
  EXPECT_FALSE(plan.contains("rows_read"));
  EXPECT_TRUE(result("explain_query", query + R"(,"analyze":true})").contains("\"rows_read\":1"));

  const std::string grouped = result(
      "explain_query",
      R"({"query":"a.k, sum(1) from [//q] as a join [//q] as b on (a.k, a.v) = (b.k, b.v) group by a.k"})");
  EXPECT_TRUE(grouped.contains(R"("common_prefix_with_primary_key":1)")) << grouped;
  EXPECT_TRUE(grouped.contains(R"("lookup_type":"prefix ranges")")) << grouped;
  EXPECT_TRUE(grouped.contains(R"("common_key_prefix":1)")) << grouped;
}

TEST_F(Selects, ThePrecisionOfCardinalityIsChosen) {
  const std::string query = "cardinality_state(k) as s from [//q] group by 1 as one";
  EXPECT_NE(select(query), select(query, R"(,"hyper_log_log_precision":9)"));
  EXPECT_NE(error("select_rows", R"({"query":"* from [//q]","hyper_log_log_precision":15})")
                .find("7 to 14"),
            std::string::npos);
}

TEST_F(Selects, TimestampsOfValuesAreThoseOfLookups) {
  TableSchema schema = small_schema();
  schema.columns[1].type = ColumnType::kInt64;
  schema.columns.push_back(schema.columns[1]);
  schema.columns[2].name = "w";
  schema.columns[2].aggregate = Aggregate::kSum;
  TableOptions options;
  options.optimize_for = OptimizeFor::kScan;
  create_table("w", schema, {}, options);
  const std::string stamps = R"("versioned_read_options":{"read_mode":"latest_timestamp"})";
  const auto both = [&] {
    const std::string found = result(
        "lookup_rows",
        R"({"path":"//w","column_names":["k","w","$timestamp:v","$timestamp:w"],)" + stamps + "}",
        "{k=1};{k=2};{k=3};{k=4}");
    EXPECT_EQ(select("k, w, [$timestamp:v], [$timestamp:w] from [//w]", "," + stamps), found);
    return found;
  };
  result("insert_rows", R"({"path":"//w"})", "{k=1;v=1;w=1};{k=2;v=2};{k=3;v=3};{k=4;v=4}");
  result("insert_rows", R"({"path":"//w","update":true})", "{k=1;v=5}");
  result("insert_rows", R"({"path":"//w","update":true,"aggregate":true})", "{k=1;w=5};{k=2;w=1}");
  result("delete_rows", R"({"path":"//w"})", "{k=3}");
  result("insert_rows", R"({"path":"//w","update":true})", "{k=3;w=1}");
  const std::string rows = both();
  EXPECT_TRUE(rows.starts_with("{\"k\"=1;\"w\"=6;")) << rows;
  EXPECT_NE(rows.find("{\"k\"=3;\"w\"=1;\"$timestamp:v\"=#;"), rows.npos) << rows;
  result("freeze_table", R"({"path":"//w"})");
  result("unfreeze_table", R"({"path":"//w"})");
  EXPECT_EQ(both(), rows) << "in chunks";
  EXPECT_EQ(select("k from [//w] where [$timestamp:v] = null", "," + stamps), "{\"k\"=3;};\n");
  EXPECT_EQ(select("k from [//w] where [$timestamp:w] < 5u", "," + stamps), "{\"k\"=4;};\n")
      << "null is less";
  EXPECT_EQ(select("k from [//w] where [$timestamp:w] > 5u and k > 3", "," + stamps), "");
  EXPECT_NE(select("* from [//w] limit 1", "," + stamps).find("\"$timestamp:w\"="),
            std::string::npos);
  error("select_rows", R"({"query":"[$timestamp:v] from [//w]"})");
}

TEST_F(Selects, ValuesKeepTheirTypesForTheJavaScriptClient) {
  EXPECT_EQ(
      select("k, v from [//q] where k = 1",
             R"(,"output_format":{"$value":"json","$attributes":{"encode_utf8":"true",)"
             R"("string_length_limit":1024,"stringify":"true","annotate_with_types":"true"}})"),
      "{\"k\":{\"$type\":\"int64\",\"$value\":\"1\"},\"v\":{\"$type\":\"int64\",\"$value\":"
      "\"10\"}}\n");
}

TEST_F(Selects, ValuesOfTypeAnyListsAndMembers) {
  TableSchema schema = small_schema();
  schema.columns[1] = {.name = "y", .type = ColumnType::kAny};
  schema.columns.push_back({.name = "l",
                            .type = ColumnType::kAny,
                            .type_v3 = R"({"type_name"="list";"item"="int64";})"});
  schema.columns.push_back({.name = "s",
                            .type = ColumnType::kAny,
                            .type_v3 = R"({"type_name"="struct";"members"=[{"name"="a";)"
                                       R"("type"="int64";};{"name"="b";"type"="string";};];})"});
  create_table("any", schema, {{Value(2)}});
  result("insert_rows", R"({"path":"//any"})",
         "{k=1;y={a=5;b=[x]};l=[1;2];s={a=7;b=seven}};{k=2;y=8u;l=[];s={a=9;b=nine}};");
  EXPECT_EQ(select("try_get_int64(y, '/a') as a, y from [//any] where k = 1"),
            "{\"a\"=5;\"y\"={\"a\"=5;\"b\"=[\"x\";];};};\n");
  EXPECT_EQ(select("k, x from [//any] left array join l as x and x > 1 order by k limit 9"),
            "{\"k\"=1;\"x\"=2;};\n{\"k\"=2;\"x\"=#;};\n");
  const std::string dialect = R"(,"syntax_version":2,"expression_builder_version":2)";
  EXPECT_EQ(select("t.s.a as a, t.l[1] as x from `//any` as t order by a limit 9", dialect),
            "{\"a\"=7;\"x\"=2;};\n{\"a\"=9;\"x\"=#;};\n");
  EXPECT_EQ(select("s.b as b, sum(k) as c from `//any` group by 1 order by 2 limit 9",
                   R"(,"syntax_version":3)"),
            "{\"b\"=\"seven\";\"c\"=1;};\n{\"b\"=\"nine\";\"c\"=2;};\n");
  EXPECT_EQ(select("cast(y as uint64) as u from `//any` where y = 8u and k = 2", dialect),
            "{\"u\"=8u;};\n");
  EXPECT_NE(error("select_rows", R"({"query":"cast(k as double) from [//any]"})")
                .find("is not supported in expression builder v1"),
            std::string::npos);
  EXPECT_NE(error("select_rows", R"({"query":"k from [//any] where y < 5"})")
                .find("Values of type map are not comparable"),
            std::string::npos);
}

}  // namespace
}  // namespace moraine::yt
