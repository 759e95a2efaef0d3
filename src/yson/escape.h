// Escapes of quoted strings, in the spelling of YSON text. Internal to reader.h and writer.h.
//
// Promise    Pure; decoding what was encoded gives the same bytes.
// Tests      escape_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace moraine {

// Appends the bytes that an escaped text stands for. False: an escape is incomplete or names no
// character.
bool append_unescaped(std::string& out, std::string_view text);
// Appends a text between quotes. Bytes that are not printable ASCII are written as \n, \r, \t; as
// one octal digit or \xHH if the next byte cannot be taken for a further digit; as three octal
// digits.
void append_quoted(std::string& out, std::string_view text);
// The UTF-8 bytes of a code point. False: it is a surrogate, or too large.
bool append_utf8(std::string& out, std::uint32_t code);

}  // namespace moraine
