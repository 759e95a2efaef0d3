// Queries over values of type any and composite types, ARRAY JOIN, members and elements.

#include "query/model/test_run.h"
#include "query/plan/test_tables.h"
#include "yson/yson.h"

namespace moraine::query {
namespace {

ColumnSchema composite(std::string name, std::string type) {
  return {.name = std::move(name), .type = ColumnType::kAny, .type_v3 = std::move(type)};
}

// y: any; l: list of int64; s: struct; p: tuple; d: dict.
const Schemas& schemas() {
  static const Schemas all = {
      {"//t",
       make_schema(
           {{.name = "k", .type = ColumnType::kInt64, .key = true},
            {.name = "y", .type = ColumnType::kAny},
            {.name = "text", .type = ColumnType::kString},
            composite("l", R"({"type_name"="list";"item"="int64";})"),
            composite("n",
                      R"({"type_name"="list";"item"={"type_name"="optional";"item"="string";};})"),
            composite("s", R"({"type_name"="struct";"members"=[{"name"="a";"type"="int64";};)"
                           R"({"name"="in";"type"={"type_name"="optional";"item"=)"
                           R"({"type_name"="list";"item"="string";};};};];})"),
            composite("p",
                      R"({"type_name"="tuple";"elements"=[{"type"="uint64";};)"
                      R"({"type"={"type_name"="tuple";"elements"=[{"type"="string";};];};};];})"),
            composite("d", R"({"type_name"="dict";"key"="string";"value"="double";})")})},
      {"//e", make_schema({{.name = "e", .type = ColumnType::kInt64, .key = true},
                           {.name = "l", .type = ColumnType::kAny}})}};
  return all;
}

Value any(const char* yson) {
  return Value::any(yson);
}
const TableRows& tables() {
  static const TableRows all = {
      {"//t",
       {{1, any("{a=5;b=[1;2]}"), "x,y", any("[1;2;3]"), any("[a;#]"), any("[10;[u;v]]"),
         any("[1u;[one]]"), any("[[k;1.5];[z;-2.]]")},
        {2, any("7"), "", any("[]"), any("[b;c;d]"), any("[20;#]"), any("[2u;[two]]"), any("[]")},
        {3, any("[1;a]"), Value(), Value(), Value(), Value(), Value(), Value()},
        {4, any("7u"), "z", any("[4]"), Value(), any("[40;[]]"), Value(), any("[[k;4.]]")},
        {5, Value(), Value(), any("[3;3]"), any("[]"), Value(), any("[5u;[five]]"), Value()}}},
      {"//e", {}}};
  return all;
}

std::string run(std::string_view text, BindOptions options = {}) {
  const auto result = run_text(text, schemas(), tables(), options);
  EXPECT_TRUE(result) << text << ": " << (result ? "" : result.error().context);
  return result ? *result : "failed";
}
// Any values as YSON text.
std::string run_yson(std::string_view text, BindOptions options = {}) {
  auto plan = plan_query(text, schemas(), options);
  EXPECT_TRUE(plan) << text << ": " << (plan ? "" : plan.error().context);
  if (!plan) return "failed";
  auto rows = run_plan(*plan, tables());
  EXPECT_TRUE(rows) << text << ": " << (rows ? "" : rows.error().context);
  if (!rows) return "failed";
  std::vector<std::string> texts;
  for (Row& row : rows->rows) {
    for (Value& value : row) {
      if (value.type() != ValueType::kAny) continue;
      texts.push_back(write_yson(*parse_yson(value.text()), YsonFormat::kText));
    }
  }
  std::string out;
  for (const std::string& one : texts) out += one + " ";
  return out;
}
std::string why_not(std::string_view text, BindOptions options = {}) {
  const auto result = run_text(text, schemas(), tables(), options);
  return result ? "" : result.error().context;
}
constexpr BindOptions kSecond{.syntax_version = 2, .expression_builder_version = 2};

TEST(QueryAny, FunctionsReadValues) {
  EXPECT_EQ(run("try_get_int64(y, '/b/1') from [//t]"), "{2}{null}{null}{null}{null}");
  EXPECT_EQ(run("k from [//t] where list_contains(l, 3)"), "{1}{5}");
  EXPECT_EQ(run("k, yson_length(l) from [//t] where is_null(y) = false and k < 3"), "{1,3}{2,0}");
  EXPECT_EQ(why_not("get_int64(y, '/a') from [//t]"),
            "Value of type \"int64\" is not found at path \"/a\"");
  EXPECT_EQ(run_yson("make_map('k', k, 'l', make_list(text, l)) as m from [//t] where k = 1"),
            R"({"k"=1;"l"=["x,y";[1;2;3;];];} )");
  EXPECT_EQ(run("any_to_yson_string(to_any(text)) from [//t]"),
            "{\"x,y\"}{\"\"}{null}{\"z\"}{null}");
  EXPECT_EQ(run("k, int64(y) as i from [//t] where k in (2, 4)"), "{2,7}{4,7}");
  EXPECT_EQ(why_not("int64(y) from [//t]"), "Cannot convert a value of type map to int64");
  EXPECT_EQ(run("cast(y as `Int64?`) from `//t` where k = 4", kSecond), "{7}");
  EXPECT_EQ(run("cast_operator(y, 'uint64') from `//t` where k = 2", kSecond), "{7u}");
  EXPECT_EQ(run_yson("cast(k as `Any?`) from `//t` where k = 4", kSecond), "4 ");
}

// null < int64 < uint64 < ... < list.
TEST(QueryAny, ValuesAreCompared) {
  EXPECT_EQ(run("k from [//t] where k > 1 and y = 7"), "{2}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y != 7"), "{3}{4}{5}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y < 7u"), "{2}{5}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y >= 7u"), "{3}{4}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y > 'a'"), "{3}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y in (7, null, 'a')"), "{2}{5}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y between 0 and true"), "{2}{4}");
  EXPECT_EQ(run("k from [//t] where k > 1 and (y, k) in ((7u, 4), (7, 3))"), "{4}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y = null"), "{5}");
  EXPECT_EQ(run("k from [//t] where k > 1 and y = make_list(1, 'a')"), "{3}");
  EXPECT_EQ(run("transform(y, (7, 7u), ('i', 'u')) from [//t] where k > 1"), "{i}{null}{u}{null}");
  EXPECT_EQ(run("case y when 7 then 'i' else 'e' end from [//t] where k > 1"), "{i}{e}{e}{e}");
  EXPECT_EQ(run("k from [//t] where l = make_list(4)"), "{4}");
  EXPECT_EQ(
      run("k from [//t] where k > 1 and (y = null or y > 5)", {.canonical_null_relations = true}),
      "{2}{3}{4}");
  EXPECT_EQ(why_not("k from [//t] where y = 7"), "Values of type map are not comparable");
}

TEST(QueryAny, ValuesAreGroupedAndSorted) {
  EXPECT_EQ(run("k from [//t] where k > 1 order by y limit 9"), "{5}{2}{4}{3}");
  EXPECT_EQ(run("k from [//t] where k > 1 order by y desc limit 2"), "{3}{4}");
  EXPECT_EQ(
      run_yson("y, sum(1) as c from [//t] where k > 1 and y > 0 group by y order by y limit 9"),
      "7 7u [1;\"a\";] ");
  EXPECT_EQ(run("sum(k) as c from [//t] group by make_list(k % 2) as g order by g limit 5"),
            "{6}{9}");
  EXPECT_EQ(run_yson("min(y) as a, max(y) as b from [//t] where k > 1 group by 1"),
            "7 [1;\"a\";] ");
  EXPECT_EQ(run("argmax(k, y) as a, cardinality(y) as c from [//t] where k > 1 group by 1"),
            "{3,3u}");
  EXPECT_EQ(why_not("sum(1) from [//t] group by y"), "Values of type map are not comparable");
}

TEST(QueryAny, ArrayJoinUnrollsLists) {
  EXPECT_EQ(run("k, x from [//t] array join l as x"), "{1,1}{1,2}{1,3}{4,4}{5,3}{5,3}");
  EXPECT_EQ(run("k, x, z from [//t] array join l as x, n as z"),
            "{1,1,a}{1,2,null}{1,3,null}{2,null,b}{2,null,c}{2,null,d}{4,4,null}{5,3,null}"
            "{5,3,null}");
  EXPECT_EQ(run("k, x from [//t] left array join l as x"),
            "{1,1}{1,2}{1,3}{2,null}{3,null}{4,4}{5,3}{5,3}");
  EXPECT_EQ(run("k, x from [//t] array join l as x and x > 2"), "{1,3}{4,4}{5,3}{5,3}");
  EXPECT_EQ(run("k, x from [//t] left array join l as x and x > 3 where k < 5"),
            "{1,null}{2,null}{3,null}{4,4}");
  EXPECT_EQ(run("x, sum(k) as s from [//t] array join l as x where x > 1 group by x order by x "
                "limit 9"),
            "{2,1}{3,11}{4,4}");
  EXPECT_EQ(run("* from [//e] array join l as x"), "");
  EXPECT_EQ(run("k, x from [//t] array join split(text, ',') as x"), "{1,x}{1,y}{2,}{4,z}");
  EXPECT_EQ(run("t.k, a, b from [//t] as t array join t.l as a and a < 3 array join t.n as b"),
            "{1,1,a}{1,1,null}{1,2,a}{1,2,null}");
  EXPECT_EQ(why_not("k from [//t] array join y as x"), "Expected a list, got a value of type map");
  EXPECT_EQ(run("k, string(x) as z from [//t] array join y as x and x > 'A' where k = 3"), "{3,a}");
}

TEST(QueryAny, MembersAndElements) {
  EXPECT_EQ(run("t.s.a from `//t` as t", kSecond), "{10}{20}{null}{40}{null}");
  EXPECT_EQ(run("s.a + 1 from `//t`", kSecond), "{11}{21}{null}{41}{null}");
  EXPECT_EQ(run("t.s.`in`[1] from `//t` as t", kSecond), "{v}{null}{null}{null}{null}");
  EXPECT_EQ(run("t.p.0, t.p.1.0 from `//t` as t", kSecond),
            "{1u,one}{2u,two}{null,null}{null,null}{5u,five}");
  EXPECT_EQ(run("l[0], l[-1], l[k] from `//t`", kSecond),
            "{1,3,2}{null,null,null}{null,null,null}{4,4,null}{3,3,null}");
  EXPECT_EQ(run("t.d['k'] from `//t` as t", kSecond), "{1.5}{null}{null}{4}{null}");
  EXPECT_EQ(run("k, x from `//t` left array join s.`in` as x and x > 'u'", kSecond),
            "{1,v}{2,null}{3,null}{4,null}{5,null}");
  EXPECT_EQ(run("g.a, sum(k) from `//t` group by s as g order by g limit 9", kSecond),
            "{null,8}{10,1}{20,2}{40,4}");
  EXPECT_EQ(why_not("s.b from `//t`", kSecond).substr(0, 27), "Member \"b\" is not found in ");
  EXPECT_EQ(why_not("p.2 from `//t`", kSecond).substr(0, 27), "Member \"2\" is not found in ");
  EXPECT_EQ(why_not("d[1] from `//t`", kSecond).substr(0, 40),
            "Type mismatch in expression: the key of ");
  EXPECT_TRUE(
      why_not("l['a'] from `//t`", kSecond)
          .starts_with("Type mismatch in expression: the index of a list is string at 1:1"));
}

TEST(QueryAny, NumbersOfProjections) {
  const BindOptions third{.syntax_version = 3, .expression_builder_version = 2};
  EXPECT_EQ(run("k % 2 as g, sum(k) from `//t` group by 1 order by 2 limit 9", third),
            "{0,6}{1,9}");
  EXPECT_EQ(run("l[0] as g, sum(k) from `//t` group by 1 order by 1 limit 9", third),
            "{null,5}{1,1}{3,5}{4,4}");
}

}  // namespace
}  // namespace moraine::query
