#include "query/function/call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace moraine::query {
namespace {

table::TextMemory& memory() {
  static table::TextMemory texts;
  return texts;
}
Value call(std::string_view name, std::vector<Value> arguments) {
  const FunctionInfo* info = find_function(name);
  EXPECT_NE(info, nullptr) << name;
  if (info == nullptr) return {};
  auto result = call_function(info->function, arguments, memory());
  EXPECT_TRUE(result) << name << ": " << result.error().context;
  return result ? *result : Value();
}
bool fails(std::string_view name, std::vector<Value> arguments) {
  return !call_function(find_function(name)->function, arguments, memory());
}

TEST(QueryFunction, CastsTruncateAndCheckTheRange) {
  EXPECT_EQ(call("int64", {-2.9}), Value(-2));
  EXPECT_EQ(call("int64", {~std::uint64_t{0}}), Value(-1));
  EXPECT_EQ(call("uint64", {-0.5}), Value(std::uint64_t{0}));
  EXPECT_EQ(call("double", {3}), Value(3.0));
  EXPECT_TRUE(fails("int64", {1e19}));
  EXPECT_TRUE(fails("uint64", {-1.0}));
  EXPECT_TRUE(fails("int64", {std::nan("")}));
  EXPECT_EQ(call("parse_int64", {"-12"}), Value(-12));
  EXPECT_EQ(call("parse_double", {"2.5"}), Value(2.5));
  EXPECT_TRUE(fails("parse_uint64", {"12x"}));
  EXPECT_EQ(call("numeric_to_string", {2.5}), Value("2.5"));
}

TEST(QueryFunction, TextsAreLoweredAsUtf8) {
  EXPECT_EQ(call("lower", {"ABC Ж Ё É Ω Ÿ İ ё"}), Value("abc ж ё é ω ÿ i ё"));
  EXPECT_EQ(call("lower", {"A\xff\xd0Z"}), Value("a\xff\xd0z"));
  EXPECT_EQ(call("length", {"Ж"}), Value(2));
  EXPECT_EQ(call("concat", {"a", "b"}), Value("ab"));
  EXPECT_EQ(call("is_prefix", {"a", "ab"}), Value(true));
  EXPECT_EQ(call("is_substr", {"b", "abc"}), Value(true));
  EXPECT_EQ(call("is_valid_utf8", {"\xff"}), Value(false));
  EXPECT_EQ(call("to_valid_utf8", {"a\xff"}), Value("a\xef\xbf\xbd"));
}

TEST(QueryFunction, RegularExpressionsAreThoseOfRe2) {
  EXPECT_EQ(call("regex_full_match", {"h.*o", "hello"}), Value(true));
  EXPECT_EQ(call("regex_full_match", {"h", "hello"}), Value(false));
  EXPECT_EQ(call("regex_partial_match", {"l+", "hello"}), Value(true));
  EXPECT_EQ(call("regex_partial_match", {"l+", Value()}), Value(false));
  EXPECT_EQ(call("regex_replace_first", {"l", "hello", "L"}), Value("heLlo"));
  EXPECT_EQ(call("regex_replace_all", {"l", "hello", "L"}), Value("heLLo"));
  EXPECT_EQ(call("regex_extract", {"(\\w+)@(\\w+)", "x me@home y", "\\2:\\1"}), Value("home:me"));
  EXPECT_EQ(call("regex_extract", {"z", "x", "\\0"}), Value());
  EXPECT_EQ(call("regex_escape", {"1.5"}), Value("1\\.5"));
  EXPECT_TRUE(fails("regex_full_match", {"(", "x"}));
  EXPECT_TRUE(fails("regex_replace_all", {"x", "x", "\\3"}));
}

TEST(QueryFunction, LikeHasRunsAndSingleCharacters) {
  EXPECT_TRUE(like("hello", "h%o", '\\', false));
  EXPECT_TRUE(like("hello", "%l_o", '\\', false));
  EXPECT_TRUE(like("", "%", '\\', false));
  EXPECT_FALSE(like("hello", "h%z", '\\', false));
  EXPECT_FALSE(like("hello", "hell", '\\', false));
  EXPECT_TRUE(like("Ж", "_", '\\', false));
  EXPECT_FALSE(like("Ж", "__", '\\', false));
  EXPECT_TRUE(
      like("a\xff"
           "b",
           "a%b", '\\', false));
  EXPECT_TRUE(like("a%b", "a\\%b", '\\', false));
  EXPECT_FALSE(like("axb", "a\\%b", '\\', false));
  EXPECT_TRUE(like("a%b", "a!%b", '!', false));
  EXPECT_TRUE(like("HELLO Ж", "hel%ж", '\\', true));
  EXPECT_FALSE(like("HELLO", "hello", '\\', false));
  EXPECT_TRUE(like(std::string(1'000, 'a'), "%a%a%a%a%a%a%a%a%", '\\', false));
  EXPECT_EQ(like_prefix("ab\\%c%d", '\\'), "ab%c");
  EXPECT_EQ(like_prefix("_a", '\\'), "");
}

TEST(QueryFunction, TimesAreFlooredInUtc) {
  constexpr std::int64_t kTime = 1446325284;
  EXPECT_EQ(call("timestamp_floor_hour", {kTime}), Value(1446325200));
  EXPECT_EQ(call("timestamp_floor_day", {kTime}), Value(1446249600));
  EXPECT_EQ(call("timestamp_floor_week", {kTime}), Value(1445817600));
  EXPECT_EQ(call("timestamp_floor_month", {kTime}), Value(1443657600));
  EXPECT_EQ(call("timestamp_floor_quarter", {kTime}), Value(1443657600));
  EXPECT_EQ(call("timestamp_floor_year", {kTime}), Value(1420070400));
  EXPECT_EQ(call("timestamp_floor_day", {-1}), Value(-86400));
  EXPECT_EQ(call("format_timestamp", {kTime, "%Y-%m-%dT%H:%M:%S"}), Value("2015-10-31T21:01:24"));
  EXPECT_EQ(call("format_timestamp", {kTime, ""}), Value(""));
  EXPECT_EQ(call("format_timestamp", {900'000'000'000, "%Y-%m"}), Value("30489-11"));
  EXPECT_EQ(call("timestamp_floor_day", {900'000'000'001}), Value(900'000'000'001))
      << "past the calendar times stay as they are";
  EXPECT_TRUE(fails("format_timestamp", {std::numeric_limits<std::int64_t>::max(), "%Y"}));
}

TEST(QueryFunction, Numbers) {
  EXPECT_EQ(call("abs", {-5}), Value(5));
  EXPECT_TRUE(fails("abs", {std::numeric_limits<std::int64_t>::min()}));
  EXPECT_EQ(call("sign", {-2.5}), Value(-1));
  EXPECT_EQ(call("even", {2.1}), Value(4));
  EXPECT_EQ(call("even", {-2.1}), Value(-4));
  EXPECT_EQ(call("factorial", {std::uint64_t{5}}), Value(std::uint64_t{120}));
  EXPECT_TRUE(fails("factorial", {std::uint64_t{21}}));
  EXPECT_EQ(call("gcd", {-12, 18}), Value(6));
  EXPECT_EQ(call("lcm", {4, 6}), Value(12));
  EXPECT_EQ(call("xor", {5, 3}), Value(6));
  EXPECT_EQ(call("bit_count", {-1}), Value(64));
  EXPECT_EQ(call("log", {100.0}), Value(2.0));
  EXPECT_EQ(call("greatest", {1, 3, 2}), Value(3));
  EXPECT_TRUE(fails("greatest", {1.0, std::nan("")}));
  EXPECT_EQ(call("farm_hash", {1, 2}), Value(std::uint64_t{3849326666456637875}));
}

TEST(QueryFunction, EachEntryOfTheTableIsImplementedOrRefused) {
  for (const FunctionInfo& info : all_functions()) {
    if (info.function != Function::kUnsupported) {
      EXPECT_EQ(info_of(info.function).function, info.function) << info.name;
    }
    EXPECT_EQ(find_function(info.name), &info);
  }
  EXPECT_NE(find_function("FARM_HASH"), nullptr);
  EXPECT_EQ(find_function("count"), nullptr);
  EXPECT_EQ(find_aggregate("count"), nullptr);
}

TEST(QueryFunction, TimesAreRoundedInTimeZones) {
  constexpr std::int64_t kTime = 1'446'325'284;  // Saturday, 31 October 2015, 21:01:24.
  EXPECT_EQ(call("timestamp_floor_day_tz", {kTime, "Asia/Bangkok"}), Value(1'446'310'800));
  EXPECT_EQ(call("timestamp_floor_day_tz", {kTime, "UTC"}), call("timestamp_floor_day", {kTime}));
  EXPECT_EQ(call("timestamp_floor_hour_tz", {kTime, "Asia/Kolkata"}), Value(1'446'323'400));
  for (const char* unit : {"hour", "day", "week", "month", "quarter", "year"}) {
    const std::string name = std::string("timestamp_floor_") + unit;
    EXPECT_EQ(call(name + "_tz", {kTime, "Etc/UTC"}), call(name, {kTime})) << name;
  }
  EXPECT_EQ(call("format_timestamp_tz", {kTime, "Asia/Bangkok", "%F %T %z"}),
            Value("2015-11-01 04:01:24 +0700"));
  EXPECT_EQ(call("format_timestamp_tz", {kTime, "America/New_York", "%H %Z"}), Value("17 EDT"));
  // The day whose midnight is left out begins at 1:00, the hour that comes twice has two
  // beginnings.
  EXPECT_EQ(call("timestamp_floor_day_tz", {1'445'150'000, "America/Sao_Paulo"}),
            Value(1'445'137'200));
  EXPECT_EQ(call("timestamp_floor_hour_tz", {1'445'735'500, "Europe/Berlin"}),
            Value(1'445'734'800));
  EXPECT_EQ(call("timestamp_floor_hour_tz", {1'445'739'100, "Europe/Berlin"}),
            Value(1'445'738'400));
  for (const char* name : {"", "Mars/Olympus", "/etc/passwd", "../../../etc/passwd", "Europe",
                           "file:UTC", "Europe/Berlin\n"}) {
    EXPECT_TRUE(fails("timestamp_floor_day_tz", {kTime, name})) << name;
  }
}

TEST(QueryFunction, TextsAreMadeOfNumbersAndPieces) {
  EXPECT_EQ(call("format_guid", {std::uint64_t{0x300'0000'0001}, std::uint64_t{0x1'0000'0002}}),
            Value("1-2-300-1"));
  EXPECT_EQ(call("make_ngrams", {"abc", 2}).text().size(), 16U);
  EXPECT_TRUE(fails("make_ngrams", {"abc", 0}));
  const std::string text(100'000, 'x');
  EXPECT_TRUE(fails("make_ngrams", {Value(text), 100'000}));
  const std::string many(4'000'000, 'x');
  EXPECT_TRUE(fails("make_ngrams", {Value(many), 1}));
}

TEST(QueryFunction, RoundingGivesIntegers) {
  EXPECT_EQ(call("ceil", {-1.5}), Value(-1));
  EXPECT_EQ(call("round", {-2.5}), Value(-3));
  EXPECT_EQ(call("even", {-2.1}), Value(-4));
  EXPECT_EQ(call("sign", {-0.5}), Value(-1));
  EXPECT_EQ(call("sign", {std::nan("")}), Value(0));
  EXPECT_TRUE(fails("floor", {1e19}));
  EXPECT_TRUE(fails("trunc", {std::nan("")}));
}

}  // namespace
}  // namespace moraine::query
