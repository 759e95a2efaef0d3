#include "gateway/http/request.h"

#include <gtest/gtest.h>

#include <map>

namespace moraine::http {
namespace {

TEST(StatusOf, EveryErrorCodeHasItsStatus) {
  const std::map<Errc, unsigned> expected{
      {Errc::kInvalidArgument, 400},
      {Errc::kNotFound, 404},
      {Errc::kAlreadyExists, 409},
      {Errc::kCorrupt, 500},
      {Errc::kIo, 500},
      {Errc::kNoSpace, 507},
      {Errc::kReadOnly, 409},
      {Errc::kOverloaded, 503},
      {Errc::kTimeout, 504},
      {Errc::kUnavailable, 503},
      {Errc::kUnsupported, 501},
      {Errc::kConflict, 409},
      {Errc::kAborted, 409},
      {Errc::kUnknownOutcome, 500},
      {Errc::kNotHere, 503},
      {Errc::kNotEmpty, 409},
      {Errc::kLockConflict, 409},
      {Errc::kNoTransaction, 409},
  };
  // A code that is added has a name, and must be added here.
  const std::string_view no_code = to_string(static_cast<Errc>(255));
  std::size_t codes = 0;
  for (int i = 0; i < 255; ++i) {
    const auto code = static_cast<Errc>(i);
    if (to_string(code) == no_code) continue;
    ++codes;
    ASSERT_TRUE(expected.contains(code)) << to_string(code);
    EXPECT_EQ(status_of(code), expected.at(code)) << to_string(code);
  }
  EXPECT_EQ(codes, expected.size());
}

TEST(ErrorReply, HasTheTextAndSaysWhenToRetry) {
  const Reply late = error_reply({Errc::kOverloaded, "too many scans"});
  EXPECT_EQ(late.head.status, 503u);
  ASSERT_NE(late.head.fields.find("Retry-After"), nullptr);
  EXPECT_EQ(*late.head.fields.find("Retry-After"), "1");
  EXPECT_EQ(late.body.text(), (Error{Errc::kOverloaded, "too many scans"}.message() + "\n"));
  for (const Errc code : {Errc::kUnknownOutcome, Errc::kTimeout}) {
    const Reply unknown = error_reply({code, "it may have been done"});
    EXPECT_EQ(unknown.head.fields.find("Retry-After"), nullptr) << to_string(code);
  }
  const Reply absent = error_reply({Errc::kNotFound, "no table /t"});
  EXPECT_EQ(absent.head.status, 404u);
  EXPECT_EQ(absent.head.fields.find("Retry-After"), nullptr);
}

}  // namespace
}  // namespace moraine::http
