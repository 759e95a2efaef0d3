#include "base/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <regex>

namespace moraine {
namespace {

TEST(Log, WritesTheMessageAndItsFieldsInOrder) {
  const ScopedLogCapture capture;
  const std::string path = "/data/a";
  log_info("device opened", {{"path", path}, {"segments", 12u}, {"shift", -3}, {"fresh", true}});
  EXPECT_EQ(capture.lines(),
            std::vector<std::string>{"info device opened path=/data/a segments=12 shift=-3 "
                                     "fresh=true"});
}

TEST(Log, QuotesValuesThatWouldBeReadAsSeveral) {
  const ScopedLogCapture capture;
  log_warning("bad", {{"a", "two words"}, {"b", ""}, {"c", "say \"x\""}, {"d", "k=v"}});
  EXPECT_EQ(capture.lines().at(0), R"(warning bad a="two words" b="" c="say \"x\"" d="k=v")");
}

TEST(Log, EscapesLineBreaksSoThatInputCannotForgeALine) {
  const ScopedLogCapture capture;
  log_error("got\nthis", {{"name", "x\ny\x7f"}});
  EXPECT_EQ(capture.lines().at(0), R"(error got\x0athis name="x\x0ay\x7f")");
}

TEST(Log, SaysAnErrorWithItsKind) {
  const ScopedLogCapture capture;
  log_error("open failed", {{"error", Error{Errc::kCorrupt, "segment 7"}}});
  EXPECT_EQ(capture.lines().at(0), R"(error open failed error="corrupt: segment 7")");
}

TEST(Log, DropsLinesBelowTheLevel) {
  const ScopedLogCapture capture;
  const LogLevel before = log_level();
  set_log_level(LogLevel::kWarning);
  log_info("quiet");
  log_warning("second");
  set_log_level(LogLevel::kOff);
  log_error("nothing at all");
  set_log_level(before);
  EXPECT_EQ(capture.lines(), std::vector<std::string>{"warning second"});
}

TEST(Log, CutsALineAtItsBound) {
  const ScopedLogCapture capture;
  log_info("long", {{"value", std::string(2 * kLogLineBytesMax, 'x')}, {"next", 1}});
  const std::string line = capture.lines().at(0);
  EXPECT_EQ(line.size(), kLogLineBytesMax + std::string_view("info ").size());
  EXPECT_TRUE(line.ends_with("x..."));
}

TEST(Log, SilencesEverythingWithACaptureOfNoLines) {
  const ScopedLogCapture capture(0);
  log_error("unheard");
  EXPECT_TRUE(capture.lines().empty());
  EXPECT_EQ(capture.dropped(), 1u);
}

TEST(Log, GivesTheOuterCaptureBackWhenTheInnerOneEnds) {
  const ScopedLogCapture outer;
  {
    const ScopedLogCapture inner;
    log_info("inner");
  }
  log_info("outer");
  EXPECT_EQ(outer.lines(), std::vector<std::string>{"info outer"});
}

TEST(Log, GoesToStandardErrorWithTimeInUtcAndLevel) {
  // Lines must not use the local zone, which is 13 hours and 45 minutes ahead here.
  const char* zone = std::getenv("TZ");
  const std::string zone_before = zone ? zone : "";
  setenv("TZ", "ZNE-13:45", 1);
  tzset();
  const LogSink before = exchange_log_sink({});
  testing::internal::CaptureStderr();
  const std::time_t earliest = std::time(nullptr);
  log_info("device opened", {{"path", "/data/a"}});
  const std::string text = testing::internal::GetCapturedStderr();
  exchange_log_sink(before);
  zone ? setenv("TZ", zone_before.c_str(), 1) : unsetenv("TZ");
  tzset();
  EXPECT_TRUE(text.ends_with(" info device opened path=/data/a\n")) << text;
  std::tm utc{};
  const char* const rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  ASSERT_NE(rest, nullptr) << text;
  EXPECT_TRUE(std::regex_search(rest, std::regex("^\\.[0-9]{3}Z info "))) << text;
  const std::time_t logged = timegm(&utc);
  EXPECT_GE(logged, earliest) << text;
  EXPECT_LT(logged, earliest + 3600) << text;
}

// A copy of fmt with its assertions on, linked in by way of a logging library, aborts here.
TEST(Log, LeavesFmtAbleToQuoteTextThatIsNotUtf8) {
  EXPECT_EQ(fmt::format("{:?}", std::string_view("?\xda")), R"("?\xda")");
}

TEST(Log, ParsesEveryLevelItPrints) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kOff}) {
    EXPECT_EQ(parse_log_level(to_string(level)).value(), level);
  }
  EXPECT_EQ(parse_log_level("loud").error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace moraine
