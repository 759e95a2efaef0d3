#include "gateway/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace moraine::http {
namespace {

Result<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    char one = text[at];
    if (one == '+' && plus_is_space) one = ' ';
    if (one == '%') {
      unsigned value = 0;
      const char* const from = text.data() + at + 1;
      const bool whole = text.size() - at > 2;
      if (!whole || std::from_chars(from, from + 2, value, 16).ptr != from + 2) {
        return fail(Errc::kInvalidArgument,
                    "the URL has a percent sign without two hexadecimal digits");
      }
      one = static_cast<char>(value);
      at += 2;
    }
    if (one == '\0') return fail(Errc::kInvalidArgument, "the URL has a zero byte");
    decoded.push_back(one);
  }
  return decoded;
}

// "http://host/path" becomes "/path".
std::string_view without_host(std::string_view text) {
  if (text.starts_with('/')) return text;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return text;
  const std::size_t path = text.find_first_of("/?", scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : text.substr(path);
}

}  // namespace

const std::string* Target::parameter(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? nullptr : &found->second;
}

Result<Target> parse_target(std::string_view text) {
  text = without_host(text.substr(0, text.find('#')));
  const std::size_t mark = text.find('?');
  Target target;
  TRY(target.path, decode(text.substr(0, mark), false));
  if (target.path.empty()) target.path = "/";
  if (!target.path.starts_with('/') && target.path != "*") {
    return fail(Errc::kInvalidArgument, "the URL's path does not begin with a slash");
  }
  std::string_view rest = mark == std::string_view::npos ? "" : text.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    if (target.query.size() == kParametersMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("the URL has more than {} parameters", kParametersMax));
    }
    const std::size_t equals = pair.find('=');
    TRY(std::string name, decode(pair.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      TRY(value, decode(pair.substr(equals + 1), true));
    }
    target.query.emplace_back(std::move(name), std::move(value));
  }
  return target;
}

}  // namespace moraine::http
