#include "query/syntax/source_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace moraine::query {

std::string describe_place(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const std::size_t last_break = before.rfind('\n');
  const std::size_t line_start = last_break == std::string_view::npos ? 0 : last_break + 1;
  const std::size_t line_end = std::min(text.find('\n', at), text.size());
  const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const std::size_t column = at - line_start + 1;

  std::size_t first = line_start;
  if (at - line_start > kExcerptBytesMax / 2) first = at - kExcerptBytesMax / 2;
  const std::size_t last = std::min(line_end, first + kExcerptBytesMax);
  std::string excerpt(text.substr(first, last - first));
  // Control bytes would move the caret.
  for (char& c : excerpt) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return fmt::format(" at {}:{}\n  {}\n  {}^", line, column, excerpt, std::string(at - first, ' '));
}

std::unexpected<Error> source_error(std::string_view text, std::size_t at, std::string_view what) {
  return fail(Errc::kInvalidArgument,
              fmt::format("Error while parsing query: {}{}", what, describe_place(text, at)));
}

}  // namespace moraine::query
