// YtError: an error as YTsaurus's clients know it: a number, a text, attributes, inner errors.
//
// Promise    Clients look for numbers in the error and in all inner ones. The number of an Error of
//            the layers below follows from its code and, where these are coarser than YTsaurus's
//            numbers, from its text.
// Limits     kErrorHeaderBytesMax of an error in a header field: inner errors, attributes and the
//            end of the text are left out until it fits. The body has all of it.
// Threading  Plain data.
// Tests      error_test.cpp.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "yson/format.h"
#include "yson/node.h"

namespace moraine::yt {

// Clients refuse an answer whose header has more than 16 KiB.
inline constexpr std::size_t kErrorHeaderBytesMax = 6'000;

// The numbers of YTsaurus that are given here.
enum class Code : int {
  kGeneric = 1,
  kTimeout = 3,
  kTransport = 100,
  kUnavailable = 105,
  kQueueLimit = 108,
  kNoCredentials = 111,
  kSortOrder = 301,
  kUniqueKey = 306,
  kSchemaViolation = 307,
  kRowWeight = 308,
  kTimestampRange = 313,
  kInvalidSchema = 314,
  kIncompatibleSchemas = 316,
  kTooManyValues = 321,
  kDuplicateColumn = 322,
  kMissingColumn = 323,
  kStringTooLong = 326,
  kSameTransactionLock = 400,
  kDescendantLock = 401,
  kConcurrentLock = 402,
  kPendingLock = 403,
  kResolve = 500,
  kAlreadyExists = 501,
  kNotEmpty = 506,
  kAccountLimit = 902,
  kPrerequisite = 1000,
  kRowConflict = 1700,
  kNotMounted = 1702,
  kTabletState = 1706,
  kInputRows = 1709,
  kOutputRows = 1710,
  kExpressionDepth = 1711,
  kNotSorted = 1716,
  kTooManyRows = 1717,
  kTabletMoves = 1744,
  kYson = 4000,
  kNoTransaction = 11000,
};

struct YtError {
  Code code = Code::kGeneric;
  std::string message{};
  YsonMap attributes{};
  std::vector<YtError> inner{};

  YtError() = default;
  YtError(Code its_code, std::string text) : code(its_code), message(std::move(text)) {}
  YtError(Error error);  // Implicit: errors of the layers below are passed on.

  // This error as the cause of another one.
  YtError within(std::string text) &&;
};

template <class T>
using YtResult = std::expected<T, YtError>;

inline std::unexpected<YtError> refuse(Code code, std::string message) {
  return std::unexpected<YtError>(YtError(code, std::move(message)));
}
std::unexpected<YtError> not_supported(std::string_view what);

YsonNode to_yson(const YtError& error);
// In one line, of at most `bytes_max`, in the format or, if this cannot hold it, as JSON.
std::string error_text(const YtError& error, const DataFormat& format, std::size_t bytes_max);

// As TRY and CO_TRY (base/result.h), for functions that return a YtResult.
#define YT_TRY(lhs, expr) MORAINE_YT_TRY_(MORAINE_CAT(result_, __LINE__), lhs, expr, return)
#define YT_CO_TRY(lhs, expr) MORAINE_YT_TRY_(MORAINE_CAT(result_, __LINE__), lhs, expr, co_return)
#define MORAINE_YT_TRY_(tmp, lhs, expr, leave)                                                     \
  auto tmp = (expr);                                                                               \
  if (!tmp) [[unlikely]]                                                                           \
    leave std::unexpected<::moraine::yt::YtError>(::moraine::yt::YtError(std::move(tmp).error())); \
  lhs = std::move(*tmp)

#define YT_TRY_VOID(expr) MORAINE_YT_TRY_VOID_(MORAINE_CAT(result_, __LINE__), expr, return)
#define YT_CO_TRY_VOID(expr) MORAINE_YT_TRY_VOID_(MORAINE_CAT(result_, __LINE__), expr, co_return)
#define MORAINE_YT_TRY_VOID_(tmp, expr, leave) \
  if (auto tmp = (expr); !tmp) [[unlikely]]    \
  leave std::unexpected<::moraine::yt::YtError>(::moraine::yt::YtError(std::move(tmp).error()))

}  // namespace moraine::yt
