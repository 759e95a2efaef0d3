#include "yson/number.h"

#include <algorithm>
#include <cmath>
#include <system_error>

namespace moraine {
namespace {

// Exponents that are written without an `e`.
constexpr int kPlainExponentMin = -10;
constexpr int kPlainExponentMax = 20;

template <class T>
void append_integer(std::string& out, T value) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  out.append(buffer, end);
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, code] = std::from_chars(begin, end, value);
  return code == std::errc() && stop == end && !text.empty();
}

// Lays out digits that stand for 0.d1d2d3... * 10^point.
void append_plain(std::string& out, std::string_view digits, int point) {
  const int count = static_cast<int>(digits.size());
  if (point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    out += digits;
  } else if (point >= count) {
    out += digits;
    out.append(static_cast<std::size_t>(point - count), '0');
  } else {
    out += digits.substr(0, static_cast<std::size_t>(point));
    out.push_back('.');
    out += digits.substr(static_cast<std::size_t>(point));
  }
}

}  // namespace

void append_shortest(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::signbit(value)) out.push_back('-');
  if (std::isinf(value)) {
    out += "inf";
    return;
  }
  if (value == 0) {
    out.push_back('0');
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), std::fabs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t mark = text.find('e');
  int exponent = 0;
  parse_whole(text.substr(mark + 1), exponent);
  if (exponent < kPlainExponentMin || exponent > kPlainExponentMax) {
    out += text;
    return;
  }
  std::string digits(text.substr(0, 1));
  if (mark > 2) digits += text.substr(2, mark - 2);
  append_plain(out, digits, exponent + 1);
}

void append_yson_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "%nan" : value < 0 ? "%-inf" : "%inf";
    return;
  }
  const std::size_t begin = out.size();
  append_shortest(out, value);
  if (out.find_first_of(".e", begin) == std::string::npos) out.push_back('.');
}

void append_json_double(std::string& out, double value) {
  constexpr int kDigits = 20;
  char buffer[48];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, kDigits)
          .ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out += text;
  if (text.find_first_not_of("0123456789-") == std::string_view::npos) out += ".0";
}

void append_decimal(std::string& out, std::int64_t value) {
  append_integer(out, value);
}
void append_decimal(std::string& out, std::uint64_t value) {
  append_integer(out, value);
}

bool parse_decimal(std::string_view text, std::int64_t& value) {
  return parse_whole(text, value);
}
bool parse_decimal(std::string_view text, std::uint64_t& value) {
  return parse_whole(text, value);
}

bool parse_double(std::string_view text, double& value) {
  // from_chars knows more words than the formats do.
  const auto is_letter = [](char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && (c | 0x20) != 'e';
  };
  if (std::ranges::any_of(text, is_letter)) return false;
  return parse_whole(text, value);
}

}  // namespace moraine
