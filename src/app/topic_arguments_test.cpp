#include "app/topic_arguments.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

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

TEST(TopicArguments, TimesThatAreNoneAreRefused) {
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

TEST(TopicArguments, CodecsGoByTheirNames) {
  EXPECT_EQ(parse_codec("none").value(), kafka::Compression::kNone);
  EXPECT_EQ(parse_codec("zstd").value(), kafka::Compression::kZstd);
  EXPECT_FALSE(parse_codec("brotli"));
}

}  // namespace
}  // namespace moraine::app
