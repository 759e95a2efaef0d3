#include "yson/escape.h"

#include <cstdint>

namespace moraine {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_octal(char c) {
  return c >= '0' && c <= '7';
}
bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

// Reads up to `count` digits at text[at]; how many there were.
std::size_t read_digits(std::string_view text, std::size_t& at, int base, std::size_t count,
                        std::uint32_t& code) {
  std::size_t digits = 0;
  for (; digits < count && at < text.size(); ++digits, ++at) {
    const int digit = digit_of(text[at]);
    if (digit < 0 || digit >= base) break;
    code = code * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
  }
  return digits;
}

char simple_escape(char kind) {
  switch (kind) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    default: return kind;
  }
}

// The escape whose backslash stands before text[at].
bool append_escape(std::string& out, std::string_view text, std::size_t& at) {
  if (at == text.size()) return false;
  const char kind = text[at];
  std::uint32_t code = 0;
  if (is_octal(kind)) {
    read_digits(text, at, 8, kind <= '3' ? 3 : 2, code);
    out.push_back(static_cast<char>(code));
    return true;
  }
  ++at;
  if (kind == 'x') {
    if (read_digits(text, at, 16, 2, code) == 0) return false;
    out.push_back(static_cast<char>(code));
    return true;
  }
  if (kind == 'u' || kind == 'U') {
    const std::size_t count = kind == 'u' ? 4 : 8;
    return read_digits(text, at, 16, count, code) == count && append_utf8(out, code);
  }
  out.push_back(simple_escape(kind));
  return true;
}

void append_code(std::string& out, std::uint8_t byte, char next) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out.push_back('\\');
  if (byte < 8 && !is_octal(next)) {
    out.push_back(static_cast<char>('0' + byte));
  } else if (digit_of(next) < 0) {
    out.push_back('x');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  } else {
    out.push_back(static_cast<char>('0' + (byte >> 6)));
    out.push_back(static_cast<char>('0' + (byte >> 3 & 7)));
    out.push_back(static_cast<char>('0' + (byte & 7)));
  }
}

}  // namespace

bool append_utf8(std::string& out, std::uint32_t code) {
  const auto continuation = [&out, code](unsigned shift) {
    out.push_back(static_cast<char>(0x80 | (code >> shift & 0x3f)));
  };
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | code >> 6));
    continuation(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | code >> 12));
    continuation(6);
    continuation(0);
  } else {
    out.push_back(static_cast<char>(0xf0 | code >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
  return true;
}

bool append_unescaped(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t backslash = text.find('\\', at);
    out += text.substr(at, backslash - at);
    if (backslash == std::string_view::npos) return true;
    at = backslash + 1;
    if (!append_escape(out, text, at)) return false;
  }
  return true;
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_plain(text[end])) ++end;
    out += text.substr(at, end - at);
    if (end == text.size()) break;
    const char c = text[end];
    at = end + 1;
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      append_code(out, static_cast<std::uint8_t>(c), at < text.size() ? text[at] : '\0');
    }
  }
  out.push_back('"');
}

}  // namespace moraine
