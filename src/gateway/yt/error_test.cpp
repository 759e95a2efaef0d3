#include "gateway/yt/error.h"

#include <gtest/gtest.h>

#include "yson/yson.h"

namespace moraine::yt {
namespace {

int code(Errc errc, const char* text) {
  return static_cast<int>(YtError(Error{errc, text}).code);
}

TEST(YtErrors, NumbersFollowFromCodesAndTexts) {
  EXPECT_EQ(code(Errc::kInvalidArgument, "anything"), 1);
  EXPECT_EQ(code(Errc::kInvalidArgument, "No column \"x\" in table schema"), 307);
  EXPECT_EQ(code(Errc::kInvalidArgument, "Missing required column \"x\""), 323);
  EXPECT_EQ(code(Errc::kInvalidArgument, "Transaction affects too many rows in tablet"), 1717);
  EXPECT_EQ(code(Errc::kNotFound, "no table //t"), 500);
  EXPECT_EQ(code(Errc::kAlreadyExists, "x"), 501);
  EXPECT_EQ(code(Errc::kNotEmpty, "x"), 506);
  EXPECT_EQ(code(Errc::kLockConflict, "is taken by concurrent transaction"), 402);
  EXPECT_EQ(code(Errc::kLockConflict, "is already taken by same transaction"), 400);
  EXPECT_EQ(code(Errc::kNoTransaction, "No such transaction"), 11000);
  EXPECT_EQ(code(Errc::kAborted, "transaction x is over"), 11000);
  EXPECT_EQ(code(Errc::kAborted, "row lock conflict: row (7)"), 1700);
  EXPECT_EQ(code(Errc::kReadOnly, "Cannot read from tablet 1 of table t"), 1702);
  EXPECT_EQ(code(Errc::kReadOnly, "Cannot change table schema"), 1706);
  EXPECT_EQ(code(Errc::kOverloaded, "Query terminated prematurely due to excessive input"), 1709);
}

TEST(YtErrors, InnerErrorsAreWritten) {
  const YtError error = YtError(Code::kResolve, "no node").within("Error resolving path");
  DataFormat json;
  json.options = JsonOptions{};
  EXPECT_EQ(error_text(error, json, 1'000),
            R"({"code":1,"message":"Error resolving path","attributes":{},"inner_errors":)"
            R"([{"code":500,"message":"no node","attributes":{}}]})");
}

TEST(YtErrors, ALongOneKeepsTheNumbersThatClientsLookFor) {
  YtError inner(Code::kRowConflict, std::string(5'000, 'x'));
  inner.attributes.set("long", std::string(5'000, 'y'));
  const YtError error = std::move(inner).within(std::string(5'000, '\n'));
  DataFormat json;
  json.options = JsonOptions{};
  const std::string text = error_text(error, json, 6'000);
  EXPECT_LE(text.size(), 6'000u);
  EXPECT_NE(text.find("1700"), std::string::npos);
  EXPECT_LE(error_text(error, json, 200).size(), 200u);
}

TEST(YtErrors, TextsThatJsonCannotHoldAreSent) {
  const YtError error(Code::kGeneric, "bytes \xff\xfe");
  DataFormat strict;
  JsonOptions options;
  options.encode_utf8 = false;
  strict.options = options;
  EXPECT_NE(error_text(error, strict, 1'000).find("bytes"), std::string::npos);
}

}  // namespace
}  // namespace moraine::yt
