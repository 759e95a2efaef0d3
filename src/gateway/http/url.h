// The target of an HTTP request: path and query string.
//
// Limits     kParametersMax parameters.
// Errors     kInvalidArgument: a percent sign without two hexadecimal digits, a zero byte, or too
//            many parameters.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace moraine::http {

inline constexpr std::size_t kParametersMax = 1'000;

struct Target {
  std::string path;                                        // Decoded; begins with '/', or is "*".
  std::vector<std::pair<std::string, std::string>> query;  // Decoded, in the order of the text.

  // The first value of `name`; nullptr when there is none.
  const std::string* parameter(std::string_view name) const;
};

// Of the origin form ("/a/b?c=d"), the absolute form ("http://host/a/b?c=d") or "*". A fragment is
// left out. In the query '+' is a space.
Result<Target> parse_target(std::string_view text);

}  // namespace moraine::http
