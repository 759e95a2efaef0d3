// Errors that point into the text of a query.
//
// Promise    The context reads `Error while parsing query: WHAT at LINE:COLUMN`, followed by the
//            line in question and a caret below the place. Lines and columns begin with 1; a column
//            is a byte. Long lines are cut around the place.
// Threading  Pure.
// Tests      parse_error_test.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moraine::query {

// Bytes of a line that an error shows.
inline constexpr std::size_t kExcerptBytesMax = 80;

// ` at LINE:COLUMN`, the line and the caret. `at`: an offset in `text`, or its size for the end.
std::string describe_place(std::string_view text, std::size_t at);
std::unexpected<Error> source_error(std::string_view text, std::size_t at, std::string_view what);

}  // namespace moraine::query
