// UTF-8: which bytes are text.
//
// Promise    Valid is what RFC 3629 allows: no overlong forms, no surrogates, nothing above
//            U+10FFFF.
// Threading  Pure.
// Tests      utf8_test.cpp.
#pragma once

#include <cstddef>
#include <string_view>

namespace moraine {

// Bytes of the character that `text` begins with; 0: it begins with none. Requires: !text.empty().
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace moraine
