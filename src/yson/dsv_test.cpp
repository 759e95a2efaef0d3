#include "yson/dsv.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "yson/dsv_reader.h"
#include "yson/dsv_writer.h"
#include "yson/events_harness.h"
#include "yson/reader.h"

namespace moraine {
namespace {

using namespace std::string_view_literals;
using Missing = SchemafulDsvOptions::Missing;

// The same for every way to cut the input, or a note that they differ.
template <class Reader, class Options>
std::string events(std::string_view input, const Options& options) {
  Reader whole(options);
  const std::string drawn = draw_events(whole, input);
  for (const std::size_t piece : {1, 2, 3, 7}) {
    Reader reader(options);
    const std::string other = draw_events(reader, input, piece);
    if (other != drawn) return fmt::format("{} | in pieces of {}: {}", drawn, piece, other);
  }
  return drawn;
}
std::string dsv_events(std::string_view input, const DsvOptions& options = {}) {
  return events<DsvReader>(input, options);
}
std::string schemaful_events(std::string_view input, const SchemafulDsvOptions& options) {
  return events<SchemafulDsvReader>(input, options);
}

template <class Writer, class Options>
std::string written(std::string_view rows, const Options& options) {
  std::string out;
  YsonReader reader(YsonDocument::kListFragment);
  Writer writer(out, options);
  const auto converted = convert(rows, reader, writer);
  return converted ? out : converted.error().context;
}
std::string dsv(std::string_view rows, const DsvOptions& options = {}) {
  return written<DsvWriter>(rows, options);
}
std::string schemaful(std::string_view rows, const SchemafulDsvOptions& options) {
  return written<SchemafulDsvWriter>(rows, options);
}

TEST(Dsv, FieldsArePairs) {
  EXPECT_EQ(dsv_events("a=1\tb=x y\na=2\n"), "{ a= '1' b= 'x y' } { a= '2' }");
  EXPECT_EQ(dsv_events("a=\tb=c=d\n"), "{ a= '' b= 'c=d' }");
  EXPECT_EQ(dsv_events(""), "");
  EXPECT_EQ(dsv_events("\n\n"), "{ } { }");
  EXPECT_EQ(dsv_events("no pair\ta=1\talone\n"), "{ a= '1' }");
}

TEST(Dsv, EscapesStandForBytes) {
  EXPECT_EQ(dsv_events("a\\=b=\\t\\n\\0\\r\\\\\\x\n"), "{ a=b= '\t\n\0\r\\x' }"sv);
  EXPECT_EQ(dsv_events("a=\\t\n", {.enable_escaping = false}), "{ a= '\\t' }");
  EXPECT_EQ(dsv(R"({"a=b"="\t\n\0\r\\=x"})"), "a\\=b=\\t\\n\\0\\r\\\\=x\n");
  EXPECT_EQ(dsv(R"({"a"="b\\"})", {.enable_escaping = false}), "a=b\\\n");
}

TEST(Dsv, RowsHaveScalars) {
  EXPECT_EQ(dsv("{a=1;b=2u;c=1.;d=%true;e=text;f=#};{}"), "a=1\tb=2\tc=1.\td=true\te=text\n\n");
  EXPECT_EQ(dsv("{a=%inf;b=%nan}"), "a=inf\tb=nan\n");
  EXPECT_EQ(dsv("{a=[1]}"), "dsv: column \"a\" of row 0 is a list or a map");
  EXPECT_EQ(dsv("{a=1};[]"), "dsv: row 1 is not a map");
  EXPECT_EQ(dsv("#"), "dsv: row 0 is not a map");
  EXPECT_EQ(dsv("<x=1>{}"), "dsv: row 0 has attributes");
  EXPECT_EQ(dsv("{a=<x=1>2}"), "dsv: row 0 has attributes");
  EXPECT_EQ(dsv("{a=1;b=[<q=1>{c=2}];d=3}", {.skip_unsupported_types = true}), "a=1\td=3\n");
}

TEST(Dsv, RowsMayHaveAPrefixAndOtherSeparators) {
  const DsvOptions tskv{.line_prefix = "tskv"};
  EXPECT_EQ(dsv("{a=1};{}", tskv), "tskv\ta=1\ntskv\n");
  EXPECT_EQ(dsv_events("tskv\ta=1\ntskv\n", tskv), "{ a= '1' } { }");
  EXPECT_NE(dsv_events("a=1\n", tskv).find("line prefix"), std::string::npos);
  const DsvOptions commas{.record_separator = ',', .key_value_separator = ':'};
  EXPECT_EQ(dsv("{a=1;b=\"x,y:z\"}", commas), "a:1\tb:x\\,y:z,");
  EXPECT_EQ(dsv_events("a:1\tb:x\\,y:z,", commas), "{ a= '1' b= 'x,y:z' }");
}

TEST(Dsv, ErrorsSayTheRowAndTheByte) {
  EXPECT_EQ(dsv_events("a=1\nb=2"),
            "{ a= '1' } { b= error: dsv: no record separator at the end in row 1 at byte 7");
  EXPECT_EQ(dsv_events("a=1\\"),
            "{ a= error: dsv: no record separator at the end in row 0 at byte 4");
  EXPECT_EQ(dsv_events("a=\0\n"sv),
            "{ a= error: dsv: a zero byte without an escape in row 0 at byte 2");
  EXPECT_NE(dsv_events("=1\n").find("a key is empty"), std::string::npos);
}

TEST(Dsv, FieldsAreBounded) {
  DsvReader reader({}, {.string_bytes_max = 10});
  EXPECT_NE(draw_events(reader, "a=12345678901\n", 1).find("longer than 10 bytes"),
            std::string::npos);
}

TEST(SchemafulDsv, FieldsAreColumns) {
  const SchemafulDsvOptions options{.columns = {"a", "b"}};
  EXPECT_EQ(schemaful_events("1\tx\n\t\\t\n", options), "{ a= '1' b= 'x' } { a= '' b= '\t' }");
  EXPECT_EQ(schemaful_events("", options), "");
  EXPECT_NE(schemaful_events("1\n", options).find("1 fields, not 2, in row 0"), std::string::npos);
  EXPECT_NE(schemaful_events("1\t2\t3\n", options).find("more than 2 fields"), std::string::npos);
  EXPECT_NE(schemaful_events("1\t2", options).find("no record separator"), std::string::npos);
  EXPECT_NE(schemaful_events("1\n", {}).find("columns"), std::string::npos);
}

TEST(SchemafulDsv, ColumnsAreInTheGivenOrder) {
  const SchemafulDsvOptions options{.columns = {"a", "b"}, .column_names_header = true};
  EXPECT_EQ(schemaful("{b=2;a=x;c=3};{a=%true;b=\"\\t=\\r\"}", options),
            "a\tb\nx\t2\ntrue\t\\t=\r\n");
}

TEST(SchemafulDsv, MissingValuesFailOrSkipTheRowOrAreSentinels) {
  constexpr std::string_view kRows = "{a=1;b=2};{a=3};{a=#;b=4}";
  EXPECT_EQ(schemaful(kRows, {.columns = {"a", "b"}}), "dsv: row 1 has no value for column \"b\"");
  EXPECT_EQ(schemaful(kRows, {.columns = {"a", "b"}, .missing = Missing::kSkipRow}), "1\t2\n");
  const SchemafulDsvOptions sentinel{
      .columns = {"a", "b"}, .missing = Missing::kPrintSentinel, .sentinel = "-"};
  EXPECT_EQ(schemaful(kRows, sentinel), "1\t2\n3\t-\n-\t4\n");
  EXPECT_EQ(schemaful_events("3\t-\n", sentinel), "{ a= '3' b= # }");
}

}  // namespace
}  // namespace moraine
