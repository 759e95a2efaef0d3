#include "yson/skiff.h"

#include <gtest/gtest.h>

#include "yson/events_harness.h"
#include "yson/format.h"
#include "yson/skiff_reader.h"
#include "yson/skiff_writer.h"
#include "yson/yson.h"

namespace moraine {
namespace {

using std::string_literals::operator""s;

// The columns of a table's schema in YSON.
Result<SkiffOptions> options_of(std::string_view columns, std::string_view registry = "{}") {
  const auto node = parse_yson(fmt::format(
      "{{table_skiff_schemas=[{{wire_type=tuple;children=[{}]}}];skiff_schema_registry={}}}",
      columns, registry));
  EXPECT_TRUE(node) << node.error().context;
  return skiff_options(*node->as<YsonMap>());
}

SkiffOptions schema(std::string_view columns) {
  auto options = options_of(columns);
  EXPECT_TRUE(options) << options.error().context;
  return std::move(options).value();
}

std::string optional(std::string_view wire, std::string_view name) {
  return fmt::format(
      "{{name={};wire_type=variant8;children=[{{wire_type=nothing}};{{wire_type={}}}]}};", name,
      wire);
}

std::string read(const SkiffOptions& options, std::string_view bytes,
                 std::size_t piece = std::string_view::npos) {
  SkiffReader reader(options, {.string_bytes_max = 1000});
  return draw_events(reader, bytes, piece);
}

// Rows given as YSON; after an error its text.
std::string write(const SkiffOptions& options, std::string_view rows) {
  std::string out;
  SkiffWriter writer(out, options);
  YsonReader reader(YsonDocument::kListFragment);
  const auto done = convert(rows, reader, writer);
  return done ? out : done.error().context;
}

// Both directions, however the input is cut.
void expect_same(std::string_view columns, std::string_view yson, const std::string& bytes) {
  const SkiffOptions options = schema(columns);
  EXPECT_EQ(write(options, yson), bytes) << yson;
  YsonReader reader(YsonDocument::kListFragment);
  const std::string events = draw_events(reader, yson);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    EXPECT_EQ(read(options, bytes, piece), events) << "piece " << piece;
  }
}

TEST(Skiff, ScalarsAreBytesInTheOrderOfTheSchema) {
  expect_same(
      "{name=a;wire_type=int64};{name=b;wire_type=uint64};{name=c;wire_type=double};"
      "{name=d;wire_type=boolean};{name=e;wire_type=string32}",
      "{a=-2;b=3u;c=2.5;d=%true;e=\"xyz\"}",
      "\0\0"
      "\xfe\xff\xff\xff\xff\xff\xff\xff"
      "\3\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\x04\x40"
      "\1"
      "\3\0\0\0xyz"s);
}

TEST(Skiff, SmallIntegersHaveTheirSize) {
  expect_same("{name=a;wire_type=int8};{name=b;wire_type=uint16};{name=c;wire_type=int32}",
              "{a=-128;b=65535u;c=-1}", "\0\0\x80\xff\xff\xff\xff\xff\xff"s);
  const SkiffOptions options = schema("{name=a;wire_type=int8};{name=b;wire_type=uint16}");
  EXPECT_NE(write(options, "{a=128;b=1u}").find("an integer does not fit the wire type int8"),
            std::string::npos);
  EXPECT_NE(write(options, "{a=1;b=65536u}").find("uint16"), std::string::npos);
  EXPECT_NE(write(options, "{a=1;b=-1}").find("uint16"), std::string::npos);
}

TEST(Skiff, OptionalValuesHaveATag) {
  const std::string columns = optional("int64", "a") + optional("string32", "b");
  expect_same(columns, "{a=1;b=#};{a=#;b=\"\"}",
              "\0\0\1\1\0\0\0\0\0\0\0\0"
              "\0\0\0\1\0\0\0\0"s);
  // A column that does not come is null, and columns come in any order.
  EXPECT_EQ(write(schema(columns), "{b=x}"), "\0\0\0\1\1\0\0\0x"s);
  EXPECT_EQ(write(schema(columns), "{b=#;a=7}"), "\0\0\1\7\0\0\0\0\0\0\0\0"s);
}

TEST(Skiff, ListsStructsTuplesAndDictionaries) {
  const std::string_view columns =
      "{name=l;wire_type=repeated_variant8;children=[{wire_type=int8}]};"
      "{name=s;wire_type=tuple;children=[{name=x;wire_type=int8};{name=y;wire_type=boolean}]};"
      "{name=d;wire_type=repeated_variant16;children=[{wire_type=tuple;children=["
      "{wire_type=string32};{wire_type=int8}]}]}";
  expect_same(columns, "{l=[1;2];s=[3;%false];d=[[k;9]]};{l=[];s=[0;%true];d=[]}",
              "\0\0\0\1\0\2\xff\3\0\0\0\1\0\0\0k\x09\xff\xff"
              "\0\0\xff\0\1\xff\xff"s);
  // Members and keys by their names.
  const SkiffOptions options = schema(columns);
  EXPECT_EQ(write(options, "{l=[];s={y=%true;x=5};d={k=9}}"),
            "\0\0\xff\5\1\0\0\1\0\0\0k\x09\xff\xff"s);
}

TEST(Skiff, OptionalOfOptionalIsAListOfOneValue) {
  const std::string_view columns =
      "{name=o;wire_type=variant8;children=[{wire_type=nothing};{wire_type=variant8;children=["
      "{wire_type=nothing};{wire_type=int8}]}]}";
  expect_same(columns, "{o=#};{o=[#]};{o=[4]}", "\0\0\0\0\0\1\0\0\0\1\1\4"s);
}

TEST(Skiff, OtherVariantsAreATagAndAValue) {
  expect_same(
      "{name=v;wire_type=variant8;children=[{wire_type=int8};{wire_type=string32}]};"
      "{name=w;wire_type=variant16;children=[{wire_type=nothing};{wire_type=int8}]};"
      "{name=r;wire_type=repeated_variant8;children=[{wire_type=int8};{wire_type=boolean}]}",
      "{v=[1;a];w=[0;#];r=[[0;7];[1;%true]]}", "\0\0\1\1\0\0\0a\0\0\0\7\1\1\xff"s);
}

TEST(Skiff, YsonValuesStayWhatTheyAre) {
  const SkiffOptions options = schema("{name=y;wire_type=yson32}");
  const std::string bytes = write(options, "{y={a=[1;<b=2>#]}}");
  for (const std::size_t piece : {1, 2, 1000}) {
    EXPECT_EQ(read(options, bytes, piece), "{ y= { a= [ 1 < b= 2 > # ] } }");
  }
}

TEST(Skiff, OtherColumnsAreAMap) {
  const SkiffOptions options =
      schema("{name=a;wire_type=int8};{name=\"$other_columns\";wire_type=yson32}");
  const std::string bytes = write(options, "{b=x;a=1;c=[2]}");
  EXPECT_EQ(read(options, bytes), "{ a= 1 b= 'x' c= [ 2 ] }");
  EXPECT_EQ(read(options, write(options, "{a=1}")), "{ a= 1 }");
  EXPECT_NE(read(options, "\0\0\1\1\0\0\0#"s).find("the other columns are not a map"),
            std::string::npos);
}

TEST(Skiff, RowsAreNumberedFromWhatWasSaidLast) {
  const SkiffOptions options = schema(
      "{name=a;wire_type=int8};"
      "{name=\"$row_index\";wire_type=variant8;children=["
      "{wire_type=nothing};{wire_type=int64};{wire_type=nothing}]};" +
      optional("int64", "\"$range_index\""));
  EXPECT_EQ(write(options, "{a=1};<range_index=3;row_index=10>#;{a=2};{a=3}"),
            "\0\0\1\2\0"
            "\0\0\2\1\x0a\0\0\0\0\0\0\0\1\3\0\0\0\0\0\0\0"
            "\0\0\3\1\x0b\0\0\0\0\0\0\0\1\3\0\0\0\0\0\0\0"s);
  EXPECT_NE(read(options, "\0\0"s).find("rows that are written have no $row_index"),
            std::string::npos);
}

TEST(Skiff, AValueThatDoesNotFitIsRefused) {
  const SkiffOptions options = schema("{name=a;wire_type=int64}");
  EXPECT_NE(write(options, "{a=x}").find("a string does not fit the wire type int64 of column "),
            std::string::npos);
  EXPECT_NE(write(options, "{a=#}").find("null does not fit"), std::string::npos);
  EXPECT_NE(write(options, "{}").find("no value does not fit"), std::string::npos);
  EXPECT_NE(write(options, "{a=1;b=2}").find("the schema has no column \"b\""), std::string::npos);
  EXPECT_NE(write(options, "#").find("a row must be a map"), std::string::npos);
  EXPECT_NE(write(options, "{a=[1]}").find("a list or a map does not fit"), std::string::npos);
}

TEST(Skiff, DamagedInputIsRefused) {
  const SkiffOptions options = schema(
      "{name=s;wire_type=string32};{name=f;wire_type=boolean};"
      "{name=v;wire_type=variant8;children=[{wire_type=int8}]}");
  const auto error = [&](const std::string& bytes, std::string_view why) {
    for (const std::size_t piece : {1, 1000}) {
      EXPECT_NE(read(options, bytes, piece).find(why), std::string::npos)
          << read(options, bytes, piece);
    }
  };
  error("\1\0"s, "the number of the table is not 0");
  error("\0"s, "the input ends too early");
  error("\0\0\xff\0\0\0abc"s, "the input ends too early");
  error("\0\0\xff\xff\xff\xff"s, "a text is longer than 1000 bytes");
  error("\0\0\0\0\0\0\2"s, "a boolean is neither 0 nor 1");
  error("\0\0\0\0\0\0\1\1"s, "a variant has no child 1");
}

// Few bytes cannot become many values.
TEST(Skiff, ValuesWithoutBytesAreBounded) {
  std::string nothing;
  for (int i = 0; i < 1'000; ++i) nothing += "{wire_type=nothing};";
  for (const std::string& child : {nothing, "{wire_type=tuple;children=[" + nothing + "]}"}) {
    const SkiffOptions options =
        schema("{name=l;wire_type=repeated_variant8;children=[{wire_type=tuple;children=[" + child +
               "]}]}");
    const std::string few = "\0\0"s + std::string(50, '\0') + "\xff";
    EXPECT_EQ(read(options, few).find("error"), std::string::npos);
    const std::string many = "\0\0"s + std::string(200, '\0') + "\xff";
    EXPECT_NE(read(options, many).find("more than 100000 values without bytes"), std::string::npos);
  }
}

TEST(Skiff, SchemasAreChecked) {
  const auto error = [](std::string_view columns, std::string_view why,
                        std::string_view registry = "{}") {
    const auto options = options_of(columns, registry);
    ASSERT_FALSE(options) << columns;
    EXPECT_NE(options.error().context.find(why), std::string::npos) << options.error().context;
  };
  error("{wire_type=int64}", "has no name");
  error("{name=a;wire_type=int64};{name=a;wire_type=int8}", "two columns have the name");
  error("{name=a;wire_type=number}", "is not known");
  error("{name=a;wire_type=int128}", "is not supported");
  error("{name=a}", "no wire_type");
  error("{name=a;wire_type=variant8}", "needs children");
  error("{name=a;wire_type=variant8;children=[]}", "has 1 to 255 children");
  error("{name=a;wire_type=int8;children=[{wire_type=int8}]}", "has no children");
  error("{name=\"$row_index\";wire_type=int64}", "another type");
  error("\"$absent\"", "is not in skiff_schema_registry");
  error("\"$loop\"", "in one another", "{loop=\"$loop\"}");
  EXPECT_FALSE(skiff_options(YsonMap()));
}

TEST(Skiff, TheRegistryGrowsToItsBoundOnly) {
  // Each schema has the one before it twice: 2^40 types.
  std::string registry = "{t0={wire_type=int8};";
  for (int i = 1; i <= 40; ++i) {
    registry +=
        fmt::format("t{}={{wire_type=tuple;children=[\"$t{}\";\"$t{}\"]}};", i, i - 1, i - 1);
  }
  const auto options = options_of("\"$t40\"", registry + "}");
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().context.find("32768 types"), std::string::npos);
}

TEST(Skiff, IsAFormatOfRows) {
  const auto format = parse_format(
      "<table_skiff_schemas=[{wire_type=tuple;children=[{name=a;wire_type=int8}]}]>skiff");
  ASSERT_TRUE(format) << format.error().context;
  std::string out;
  EXPECT_FALSE(make_sink(out, *format, YsonDocument::kNode));
  EXPECT_TRUE(make_sink(out, *format, YsonDocument::kListFragment));
  EXPECT_TRUE(make_source(*format, YsonDocument::kListFragment));
  EXPECT_EQ(mime_of(*format), "application/octet-stream");
  EXPECT_FALSE(parse_format("skiff"));
}

}  // namespace
}  // namespace moraine
