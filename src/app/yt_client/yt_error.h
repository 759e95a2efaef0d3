// YtError: an error as YTsaurus's HTTP API returns it: a code, a message, attributes, causes.
//
// Promise    Plain data, and pure functions.
// Limits     kYtErrorDepthMax causes deep; deeper ones are cut.
// Tests      yt_error_test.cpp
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "yson/node.h"

namespace moraine::app {

inline constexpr std::size_t kYtErrorDepthMax = 32;

struct YtError {
  // What it is without the codes of YTsaurus. kAborted: the proxy answered with an error; others:
  // there was no answer.
  Errc kind = Errc::kAborted;
  std::int64_t code = 1;
  std::string message;
  YsonMap attributes;
  std::vector<YtError> inner;

  // Whether it or one of its causes has one of these codes.
  bool has_code(std::initializer_list<std::int64_t> codes) const;
  // The attribute of this name, its own or the first one among its causes; null: none has it.
  const YsonNode* attribute(std::string_view name) const;
};

template <class T>
using YtResult = std::expected<T, YtError>;

// An error of this process or of the connection.
YtError local_error(Error error);
inline std::unexpected<YtError> yt_fail(Errc kind, std::string message) {
  return std::unexpected(local_error({kind, std::move(message)}));
}

// Of `{"code": ..., "message": ..., "attributes": {...}, "inner_errors": [...]}`.
YtError yt_error_of(const YsonNode& node);
// A JSON document with UTF-8 strings.
Result<YsonNode> parse_json(std::string_view text);
// Of the body of an HTTP answer, JSON or YSON. kInvalidArgument: it is no such error.
Result<YtError> parse_yt_error(std::string_view text);

// The message, then a line for what helps to act on it, then its causes, indented. Attributes about
// the server's threads are left out.
std::string describe(const YtError& error);

}  // namespace moraine::app

// As TRY of base/result.h, in functions that return a YtResult. The expression may also be a
// Result.
#define TRY_YT(lhs, expr) TRY_YT_(MORAINE_CAT(result_, __LINE__), lhs, expr)
#define TRY_YT_(tmp, lhs, expr)                                                  \
  auto tmp = (expr);                                                             \
  if (!tmp) [[unlikely]]                                                         \
    return std::unexpected(::moraine::app::as_yt_error(std::move(tmp).error())); \
  lhs = std::move(*tmp)
#define TRY_YT_VOID(expr) TRY_YT_VOID_(MORAINE_CAT(result_, __LINE__), expr)
#define TRY_YT_VOID_(tmp, expr) \
  auto tmp = (expr);            \
  if (!tmp) [[unlikely]]        \
  return std::unexpected(::moraine::app::as_yt_error(std::move(tmp).error()))

namespace moraine::app {
inline YtError as_yt_error(YtError error) {
  return error;
}
inline YtError as_yt_error(Error error) {
  return local_error(std::move(error));
}
}  // namespace moraine::app
