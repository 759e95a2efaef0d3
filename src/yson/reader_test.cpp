#include "yson/reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "yson/events_harness.h"

namespace moraine {
namespace {

using namespace std::string_view_literals;

// The same for every way to cut the input, or a note that they differ.
std::string events(std::string_view input, YsonDocument document = YsonDocument::kNode) {
  YsonReader whole(document);
  std::string drawn = draw_events(whole, input);
  const std::string until_error = drawn.substr(0, drawn.find(" error:"));
  for (const std::size_t piece : {1, 2, 3, 7}) {
    YsonReader reader(document);
    const std::string other = draw_events(reader, input, piece);
    if (other.substr(0, other.find(" error:")) != until_error) {
      return fmt::format("{} | in pieces of {}: {}", drawn, piece, other);
    }
    if ((other == drawn) != (drawn == until_error) && other.find(" error:") == std::string::npos) {
      return fmt::format("no error in pieces of {}", piece);
    }
  }
  return drawn;
}

TEST(YsonReader, ReadsEveryScalarOfText) {
  EXPECT_EQ(events("  100500 "), "100500");
  EXPECT_EQ(events("-5"), "-5");
  EXPECT_EQ(events("+5"), "5");
  EXPECT_EQ(events("0755"), "755");
  EXPECT_EQ(events("100500u"), "100500u");
  EXPECT_EQ(events("18446744073709551615u"), "18446744073709551615u");
  EXPECT_EQ(events("31415926e-7"), "3.1415926");
  EXPECT_EQ(events("1."), "1.");
  EXPECT_EQ(events("%true"), "true");
  EXPECT_EQ(events("%false"), "false");
  EXPECT_EQ(events("%nan"), "%nan");
  EXPECT_EQ(events("%inf"), "%inf");
  EXPECT_EQ(events("%+inf"), "%inf");
  EXPECT_EQ(events("%-inf"), "%-inf");
  EXPECT_EQ(events("inf"), "'inf'");
  EXPECT_EQ(events("Hello_789.World-%123"), "'Hello_789.World-%123'");
  EXPECT_EQ(events("\" a <1> \\\"\\\\\""), "' a <1> \"\\'");
  EXPECT_EQ(events(R"("\x41\102\n")"), "'AB\n'");
  EXPECT_EQ(events("\"\""), "''");
  EXPECT_EQ(events(" # "), "#");
}

TEST(YsonReader, ReadsEveryScalarOfBinary) {
  EXPECT_EQ(events("\x01\x08YSON"sv), "'YSON'");
  EXPECT_EQ(events("\x01\0"sv), "''");
  EXPECT_EQ(events(" \x02\x80\x80\x80\x02  "sv), "2097152");
  EXPECT_EQ(events("\x02\x01"sv), "-1");
  EXPECT_EQ(events("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv), "-9223372036854775808");
  EXPECT_EQ(events("\x06\x80\x80\x80\x02"sv), "4194304u");
  EXPECT_EQ(events("\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv), "18446744073709551615u");
  EXPECT_EQ(events("\x03\0\0\0\0\0\0\xf8\x3f"sv), "1.5");
  EXPECT_EQ(events("\x04"sv), "false");
  EXPECT_EQ(events("\x05"sv), "true");
}

TEST(YsonReader, ReadsListsMapsAndAttributes) {
  EXPECT_EQ(events(" [ ] "), "[ ]");
  EXPECT_EQ(events("{}"), "{ }");
  EXPECT_EQ(events("[1;[2];{}]"), "[ 1 [ 2 ] { } ]");
  EXPECT_EQ(events("[ 42 ; 36u ; 1e3 ; a ; ]"), "[ 42 36u 1000. 'a' ]");
  EXPECT_EQ(events("{a=1;\"b\"={c=[]};}"), "{ a= 1 b= { c= [ ] } }");
  EXPECT_EQ(events("<a=<b=#>1;c=2>{d=<>[]}"), "< a= < b= # > 1 c= 2 > { d= < > [ ] }");
  EXPECT_EQ(events("{\x01\x02k=[\x02\x01;7]}"sv), "{ k= [ -1 7 ] }");
}

TEST(YsonReader, ReadsFragments) {
  const auto list = [](std::string_view input) {
    return events(input, YsonDocument::kListFragment);
  };
  const auto map = [](std::string_view input) { return events(input, YsonDocument::kMapFragment); };
  EXPECT_EQ(list(" 1 ;2; 3;4;5  "), "1 2 3 4 5");
  EXPECT_EQ(list("{};[];<>#;\n"), "{ } [ ] < > #");
  EXPECT_EQ(list("  "), "");
  EXPECT_EQ(list(""), "");
  EXPECT_EQ(map(" a = 1 ;b=2; c= 3"), "a= 1 b= 2 c= 3");
  EXPECT_EQ(map("m={};l=[];e=#;"), "m= { } l= [ ] e= #");
  EXPECT_EQ(map("  "), "");
}

TEST(YsonReader, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(events(""), " error: yson: unexpected end of input at byte 0 (line 1, column 1)");
  EXPECT_EQ(events("{\n  a = ;\n}"),
            "{ a= error: yson: a value is expected, not ';' at byte 8 (line 2, column 7)");
  EXPECT_EQ(events("[1 2]"),
            "[ 1 error: yson: ';' is expected, not '2' at byte 3 (line 1, column 4)");
  EXPECT_EQ(
      events("1 2"),
      "1 error: yson: the end of the document is expected, not '2' at byte 2 (line 1, column 3)");
  EXPECT_EQ(
      events("{foo bar = 580}"),
      "{ foo= error: yson: '=' is expected after a key, not 'b' at byte 5 (line 1, column 6)");
  EXPECT_EQ(events("{1=1}"),
            "{ error: yson: a key is expected, not '1' at byte 1 (line 1, column 2)");
  EXPECT_EQ(events("\n\"open"), " error: yson: a string has no end at byte 1 (line 2, column 1)");
  EXPECT_EQ(events("[12;1x]"),
            "[ 12 error: yson: a number is malformed or out of range at byte 4 "
            "(line 1, column 5)");
  EXPECT_EQ(events("[\x02\x02;?"sv), "[ 1 error: yson: a value is expected, not '?' at byte 4");
  EXPECT_EQ(events("\x01\x08zz"sv),
            " error: yson: a string of 4 bytes goes on past the end of the input at byte 0");
}

TEST(YsonReader, LinesAreCountedOverPieces) {
  YsonReader reader;
  const std::string drawn = draw_events(reader, "[\n1;\n2;\n  ?]", 3);
  EXPECT_TRUE(drawn.ends_with("at byte 10 (line 4, column 3)")) << drawn;
}

TEST(YsonReader, WhatIsNotYsonIsRefused) {
  for (const std::string_view input : {"  "sv,
                                       "[1"sv,
                                       "{a}"sv,
                                       "{=1}"sv,
                                       "{\"\"=1}"sv,
                                       "%maybe"sv,
                                       "%infinity"sv,
                                       "%-nan"sv,
                                       "%"sv,
                                       "-"sv,
                                       "+"sv,
                                       "+inf"sv,
                                       "--1"sv,
                                       "+-+1"sv,
                                       "-1u"sv,
                                       "1.5u"sv,
                                       "1e400"sv,
                                       "9223372036854775808"sv,
                                       "\"\\x\""sv,
                                       "\x01\x03"sv,
                                       "\x02"sv,
                                       "\x02\xff"sv,
                                       "\x03"
                                       "1234"sv,
                                       "<a=1>"sv,
                                       "<a=1><b=2>3"sv,
                                       "]"sv,
                                       "[}"sv,
                                       "{a=1]"sv,
                                       "[;]"sv,
                                       "\0"sv,
                                       "1\0"sv,
                                       "'a'"sv,
                                       "\x07"sv,
                                       "\xff"sv,
                                       "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,
                                       "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv}) {
    EXPECT_NE(events(input).find(" error: yson: "), std::string::npos) << input;
  }
}

TEST(YsonReader, ErrorsStay) {
  YsonReader reader;
  reader.feed("[?1;2]");
  reader.finish();
  YsonEvent event;
  EXPECT_EQ(reader.next(event), YsonStep::kEvent);
  for (int times = 0; times < 3; ++times) EXPECT_EQ(reader.next(event), YsonStep::kError);
}

TEST(YsonReader, NestingIsBounded) {
  for (const auto& [open, close] : {std::pair("[", "]"), {"{a=", "}"}, {"<a=", ">1"}}) {
    for (const std::size_t depth : {kYsonDepthMax, kYsonDepthMax + 1, std::size_t{1'000'000}}) {
      std::string input;
      for (std::size_t at = 0; at < depth; ++at) input += open;
      if (*open != '[') input += "1";
      for (std::size_t at = 0; at < depth; ++at) input += close;
      YsonReader reader;
      const bool failed = draw_events(reader, input).find(" error: ") != std::string::npos;
      EXPECT_EQ(failed, depth > kYsonDepthMax) << open << depth;
    }
  }
}

TEST(YsonReader, RowsAreReturnedBeforeTheInputIsWhole) {
  YsonReader reader(YsonDocument::kListFragment);
  YsonEvent event;
  EXPECT_EQ(reader.next(event), YsonStep::kNeedInput);
  reader.feed("{a=1};{");
  int items = 0;
  while (reader.next(event) == YsonStep::kEvent) {
    items += reader.depth() == 0 && event.ends_node() ? 1 : 0;
  }
  EXPECT_EQ(items, 1);
  EXPECT_EQ(reader.depth(), 1U);
}

TEST(YsonReader, OneGiantStringInSinglesTakesLinearTime) {
  const std::string giant(3'000'000, 'x');
  for (const std::string& input :
       {"\"" + giant + "\"", giant, "\x01\x80\x9b\xee\x02" + giant, "\"\\n" + giant + "\""}) {
    YsonReader reader;
    reader.next(*std::make_unique<YsonEvent>());
    YsonEvent event;
    std::size_t events = 0;
    for (const char& c : input) {
      reader.feed({&c, 1});
      if (reader.next(event) == YsonStep::kEvent) {
        ++events;
        EXPECT_GE(event.text.size(), giant.size());
        EXPECT_EQ(reader.next(event), YsonStep::kNeedInput);
      }
    }
    reader.finish();
    if (reader.next(event) == YsonStep::kEvent) ++events;
    EXPECT_EQ(events, 1U);
    EXPECT_EQ(reader.next(event), YsonStep::kEnd);
  }
}

TEST(YsonReader, LongStringsNumbersAndItemsAreRefused) {
  const YsonLimits limits{.string_bytes_max = 10, .item_bytes_max = 100};
  const auto drawn = [&limits](std::string_view input, std::size_t piece) {
    YsonReader reader(YsonDocument::kListFragment, limits);
    return draw_events(reader, input, piece);
  };
  for (const std::size_t piece : {1, 1000}) {
    for (const std::string_view text : {"abcdefghijk"sv, "\"abcdefghijk\""sv,
                                        "\x01\x16"
                                        "abcdefghijk"sv}) {
      EXPECT_NE(drawn(text, piece).find("longer than 10 bytes"), std::string::npos) << text;
    }
    EXPECT_EQ(drawn("abcdefghij", piece), "'abcdefghij'");
    EXPECT_NE(drawn(std::string(3000, '1'), piece).find("error"), std::string::npos);
    // A length that is declared, not sent.
    EXPECT_NE(drawn("\x01\xfe\xff\xff\xff\xff\xff\xff\xff\x7e"sv, piece).find("longer than 10"),
              std::string::npos);
  }
  std::string rows;
  for (int row = 0; row < 100; ++row) rows += "{a=1};\n";
  EXPECT_EQ(drawn(rows, 1).find("error"), std::string::npos);
  std::string row = "[";
  for (int at = 0; at < 100; ++at) row += "1;";
  EXPECT_NE(drawn(row + "]", 1).find("longer than 100 bytes"), std::string::npos);
}

}  // namespace
}  // namespace moraine
