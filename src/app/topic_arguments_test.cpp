#include "app/topic_arguments.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

TEST(TopicArguments, ARefusedNameSaysWhatIsWrongWithIt) {
  for (const char* good : {"orders", "team/orders", "a.b_c-d/E1", "..."}) {
    EXPECT_TRUE(check_name_word(good)) << good;
  }
  const std::pair<std::string, const char*> refused[] = {
      {"", "name is empty"},
      {"/a", "'/a': a name is missing beside a '/'"},
      {"a//b", "'a//b': a name is missing beside a '/'"},
      {"a/", "'a/': a name is missing beside a '/'"},
      {"bad name", "'bad name': names of topics have letters"},
      {"a/..", "topic 'a/..': "},
      {std::string(1000, 'a'), "bytes, more than"}};
  for (const auto& [name, words] : refused) {
    const auto checked = check_name_word(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_TRUE(checked.error().context.contains(words)) << checked.error().context;
  }
}

TEST(TopicArguments, WholeNumbersAreWithinTheirBounds) {
  EXPECT_EQ(parse_whole("0", 0, 9).value_or(-1), 0);
  EXPECT_EQ(parse_whole("9223372036854775807", 0, INT64_MAX).value_or(-1), INT64_MAX);
  for (const char* wrong : {"", "-", "abc", "1x", "1.5", "+1", " 1"}) {
    const auto number = parse_whole(wrong, 0, 9);
    ASSERT_FALSE(number) << wrong;
    EXPECT_TRUE(number.error().context.contains("is no whole number")) << number.error().context;
  }
  EXPECT_TRUE(parse_whole("10", 0, 9).error().context.contains("10 is not from 0 to 9"));
  EXPECT_TRUE(parse_whole("-1", 0, INT64_MAX).error().context.contains("-1 is not 0 or more"));
  EXPECT_FALSE(parse_whole("9223372036854775808", 0, INT64_MAX));
}

TEST(TopicArguments, AnUnknownConfigIsRefusedWithThoseThatExist) {
  EXPECT_TRUE(check_configs({{"retention.ms", "1000"}}, {"retention.bytes"}));
  EXPECT_FALSE(check_configs({{"retention.ms", "1000"}}, {"retention.ms"}));
  EXPECT_FALSE(check_configs({{"retention.ms", "soon"}}, {}));
  const std::string set = check_configs({{"retention", "1"}}, {}).error().context;
  EXPECT_TRUE(set.starts_with("no config 'retention'; is it 'retention.")) << set;
  EXPECT_TRUE(set.contains("moraine topic create --help")) << set;
  const std::string typo = check_configs({{"retenton.ms", "1"}}, {}).error().context;
  EXPECT_TRUE(typo.contains("is it 'retention.ms'?")) << typo;
  EXPECT_EQ(check_configs({}, {"retention"}).error().context, set);
}

TEST(TopicArguments, ConfigsAreNamesAndValues) {
  const auto configs = parse_configs({"retention.ms=1000", "a=", "b=c=d"});
  ASSERT_TRUE(configs);
  EXPECT_EQ(configs->at("retention.ms"), "1000");
  EXPECT_EQ(configs->at("a"), "");
  EXPECT_EQ(configs->at("b"), "c=d");
  EXPECT_FALSE(parse_configs({"retention.ms"}));
  EXPECT_FALSE(parse_configs({"=1"}));
  EXPECT_FALSE(parse_configs({"a=1", "a=2"}));
}

TEST(TopicArguments, AConsumerMayBeImportant) {
  EXPECT_EQ(parse_consumer("billing").value(), (ConsumerWord{"billing", false}));
  EXPECT_EQ(parse_consumer("billing:important").value(), (ConsumerWord{"billing", true}));
  for (const char* wrong : {"", ":important", "billing:", "billing:very", "a,b"}) {
    EXPECT_FALSE(parse_consumer(wrong)) << wrong;
  }
}

TEST(TopicArguments, TimesAreRfc3339) {
  const std::pair<const char*, std::int64_t> times[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2024-05-01T10:00:00Z", 1'714'557'600'000},
      {"2024-05-01 10:00:00z", 1'714'557'600'000},
      {"2024-05-01T12:00:00+02:00", 1'714'557'600'000},
      {"2024-05-01T04:30:00-05:30", 1'714'557'600'000},
      {"2024-05-01T10:00:00.5Z", 1'714'557'600'500},
      {"2024-05-01T10:00:00.1239999Z", 1'714'557'600'123},
      {"2024-02-29T00:00:00Z", 1'709'164'800'000}};
  for (const auto& [text, milliseconds] : times) {
    EXPECT_EQ(parse_time_ms(text).value_or(-1), milliseconds) << text;
  }
}

TEST(TopicArguments, InvalidTimesAreRefused) {
  for (const char* wrong :
       {"", "2024-05-01", "2024-05-01T10:00:00", "2024-05-01T10:00Z", "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01T10:00:00.Z",
        "2024-05-01T10:00:00Z ", "24-05-01T10:00:00Z", "2024-05-01T10:00:00+2:00",
        "+024-05-01T10:00:00Z", "2024-00-01T10:00:00Z", "2024-05-00T10:00:00Z"}) {
    EXPECT_FALSE(parse_time_ms(wrong)) << wrong;
  }
}

TEST(TopicArguments, TimesAreWrittenAsTheyAreRead) {
  EXPECT_EQ(time_text(1'714'557'600'123), "2024-05-01T10:00:00.123Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(time_text(253'402'300'799'999), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(time_text(253'402'300'800'000), "253402300800000");
  EXPECT_EQ(time_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(TopicArguments, APositionIsAPlaceAnOffsetOrATime) {
  EXPECT_EQ(parse_position("start").value(), Position(FromStart()));
  EXPECT_EQ(parse_position("end").value(), Position(FromEnd()));
  EXPECT_EQ(parse_position("17").value(), Position(FromOffset{17}));
  EXPECT_EQ(parse_position("17ms").value(), Position(FromTime{17}));
  EXPECT_EQ(parse_position("1970-01-01T00:00:01Z").value(), Position(FromTime{1000}));
  for (const char* wrong :
       {"", "-1", "-1ms", "ms", "begin", "1.5", "9223372036854775808", "1969-12-31T00:00:00Z"}) {
    EXPECT_FALSE(parse_position(wrong)) << wrong;
  }
}

TEST(TopicArguments, SeparatorsMayBeEscaped) {
  EXPECT_EQ(parse_separator("\\t").value(), "\t");
  EXPECT_EQ(parse_separator(": ").value(), ": ");
  EXPECT_EQ(parse_separator("\\\\").value(), "\\");
  EXPECT_EQ(parse_separator("\\").value(), "\\");
  EXPECT_FALSE(parse_separator(""));
  EXPECT_FALSE(parse_separator("\\x"));
}

TEST(TopicArguments, CodecsAreParsedByName) {
  EXPECT_EQ(parse_codec("none").value(), kafka::Compression::kNone);
  EXPECT_EQ(parse_codec("zstd").value(), kafka::Compression::kZstd);
  EXPECT_FALSE(parse_codec("brotli"));
}

}  // namespace
}  // namespace moraine::app
