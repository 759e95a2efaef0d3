#include "app/yt_shell/statement.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

using Words = std::vector<std::string>;

Words statements(std::string_view text, std::size_t step) {
  StatementBuffer buffer;
  Words all;
  for (std::size_t at = 0; at < text.size(); at += step) {
    EXPECT_TRUE(buffer.add(text.substr(at, step)));
    while (auto statement = buffer.next()) all.push_back(std::move(*statement));
  }
  if (!buffer.rest().empty()) all.push_back("rest: " + buffer.rest());
  return all;
}

TEST(Statements, EndAtSemicolonsOutsideOfQuotesAndBrackets) {
  const std::string_view text =
      "select a from [//t;x]\n  where b = ';' and c = \"\\\";\";;\n"
      "set //t/@x {a=1;b=[1;2]}; `;` from [//u]; half ('";
  const Words expected{"select a from [//t;x]\n  where b = ';' and c = \"\\\";\"",
                       "set //t/@x {a=1;b=[1;2]}", "`;` from [//u]", "rest: half ('"};
  EXPECT_EQ(statements(text, text.size()), expected);
  EXPECT_EQ(statements(text, 1), expected) << "typed one by one";
}

TEST(Statements, TooLongOnesAreDropped) {
  StatementBuffer buffer;
  ASSERT_TRUE(buffer.add("'"));
  EXPECT_FALSE(buffer.add(std::string(kStatementBytesMax, 'x')));
  ASSERT_TRUE(buffer.add("a;"));
  EXPECT_EQ(buffer.next(), "a");
}

TEST(StatementWords, KeepWhatIsBracketed) {
  EXPECT_EQ(*split_words("create table //t --attributes {a=\"x y\"; b='z'}  -r"),
            (Words{"create", "table", "//t", "--attributes", "{a=\"x y\"; b='z'}", "-r"}));
  EXPECT_EQ(*split_words("set '//a b' \"c \\\"d\\\" \\n\" ''"),
            (Words{"set", "//a b", "c \"d\" \\n", ""}));
  EXPECT_EQ(*split_words("--attributes '{a=[1; 2]}'"), (Words{"--attributes", "{a=[1; 2]}"}));
  EXPECT_EQ(*split_words("write <append=%true; x=1>//t < f"),
            (Words{"write", "<append=%true; x=1>//t", "<", "f"}));
  EXPECT_EQ(*split_words("  "), Words{});
  EXPECT_FALSE(split_words("set //t 'open"));
}

TEST(StatementKinds, AreToldByTheFirstWord) {
  const auto kind = [](std::string_view text) {
    const auto statement = parse_statement(text);
    EXPECT_TRUE(statement) << text;
    return statement ? statement->kind : StatementKind::kQuit;
  };
  EXPECT_EQ(kind("SELECT * from [//t]"), StatementKind::kQuery);
  EXPECT_EQ(kind("select 1"), StatementKind::kQuery);
  EXPECT_EQ(kind("a, b FROM [//t] limit 1"), StatementKind::kQuery);
  EXPECT_EQ(kind("Explain a from [//t]"), StatementKind::kExplain);
  EXPECT_EQ(kind("explain  analyze a from [//t]"), StatementKind::kAnalyze);
  EXPECT_EQ(kind("insert-rows //t {k=1}"), StatementKind::kVerb);
  EXPECT_EQ(kind("help"), StatementKind::kHelp);
  EXPECT_EQ(kind("exit"), StatementKind::kQuit);
  EXPECT_EQ(parse_statement("explain analyze a from [//t]")->query, "a from [//t]");
  const auto verb = parse_statement("insert-rows //t --format json < rows.json");
  ASSERT_TRUE(verb);
  EXPECT_EQ(verb->input, "rows.json");
  EXPECT_EQ(verb->words, (Words{"insert-rows", "//t", "--format", "json"}));
}

TEST(StatementKinds, WhatIsNeitherFails) {
  EXPECT_EQ(parse_statement("dance //t").error().context,
            "'dance' is no verb, and this is no query; 'help;' lists verbs");
  EXPECT_FALSE(parse_statement("explain "));
  EXPECT_FALSE(parse_statement("insert-rows //t <"));
  EXPECT_FALSE(parse_statement("insert-rows //t < a b"));
}

}  // namespace
}  // namespace moraine::app
