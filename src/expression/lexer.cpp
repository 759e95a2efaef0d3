#include "expression/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "yson/yson.h"

namespace moraine {
namespace {

using Kind = ExpressionToken::Kind;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::unexpected<Error> refuse(std::string_view what, std::size_t at) {
  return fail(Errc::kInvalidArgument, fmt::format("{} at byte {}", what, at));
}

template <class T>
bool parse_whole(std::string_view digits, T& out) {
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, out);
  return code == std::errc() && stop == end;
}

}  // namespace

bool ExpressionToken::is_keyword(std::string_view lower_case) const {
  return kind == Kind::kName && std::ranges::equal(text, lower_case, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

Result<ExpressionToken> ExpressionLexer::next() {
  while (at_ < input_.size() && is_space(input_[at_])) ++at_;
  ExpressionToken token;
  token.at = at_;
  if (at_ == input_.size()) return token;
  const char c = input_[at_];
  if (is_digit(c)) return number();
  if (c == '\'' || c == '"') return string(c);
  if (c == '[') return quoted_name(']');
  if (c == '`') return quoted_name('`');
  if (is_letter(c) || (c == '%' && at_ + 1 < input_.size() && is_letter(input_[at_ + 1]))) {
    const std::string_view rest = input_.substr(at_);
    // `%true` and `%false` are the only names that begin so.
    if (c != '%' || rest.starts_with("%true") || rest.starts_with("%false")) {
      std::size_t end = at_ + 1;
      while (end < input_.size() && (is_letter(input_[end]) || is_digit(input_[end]))) ++end;
      token.kind = Kind::kName;
      token.text = input_.substr(at_, end - at_);
      at_ = end;
      return token;
    }
  }
  static constexpr std::string_view kSymbols[] = {"<<", ">>", "<=", ">=", "<>", "!=", "=", "<",
                                                  ">",  "+",  "-",  "*",  "/",  "%",  "&", "|",
                                                  "^",  "~",  "(",  ")",  ",",  "#"};
  for (const std::string_view symbol : kSymbols) {
    if (!input_.substr(at_).starts_with(symbol)) continue;
    token.kind = Kind::kSymbol;
    token.text = symbol;
    at_ += symbol.size();
    return token;
  }
  return refuse("unexpected character", at_);
}

Result<ExpressionToken> ExpressionLexer::number() {
  ExpressionToken token;
  token.at = at_;
  bool fraction = false;
  std::size_t end = at_;
  for (; end < input_.size(); ++end) {
    const char c = input_[end];
    const bool sign_of_exponent =
        (c == '+' || c == '-') && (input_[end - 1] == 'e' || input_[end - 1] == 'E');
    if (c == '.' || c == 'e' || c == 'E') fraction = true;
    if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign_of_exponent) break;
  }
  const std::string_view digits = input_.substr(at_, end - at_);
  if (fraction) {
    token.kind = Kind::kDouble;
    if (!parse_whole(digits, token.number)) return refuse("not a valid number", at_);
  } else {
    if (!parse_whole(digits, token.word)) return refuse("an integer is too large", at_);
    token.kind = Kind::kInteger;
    if (end < input_.size() && input_[end] == 'u') {
      token.kind = Kind::kUnsigned;
      ++end;
    } else if (token.word > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return refuse("an integer is too large", at_);
    }
  }
  if (end < input_.size() && is_letter(input_[end])) return refuse("not a valid number", at_);
  at_ = end;
  return token;
}

Result<ExpressionToken> ExpressionLexer::string(char quote) {
  ExpressionToken token;
  token.at = at_;
  token.kind = Kind::kString;
  // As a quoted string of YSON, which has the same escapes.
  std::string escaped = "\"";
  std::size_t end = at_ + 1;
  for (; end < input_.size() && input_[end] != quote; ++end) {
    if (input_[end] == '\\' && end + 1 < input_.size()) {
      escaped.push_back('\\');
      ++end;
    } else if (input_[end] == '"') {
      escaped.push_back('\\');
    }
    escaped.push_back(input_[end]);
  }
  if (end >= input_.size()) return refuse("an unterminated string", at_);
  escaped.push_back('"');
  auto node = parse_yson(escaped);
  if (!node || node->as<std::string>() == nullptr) return refuse("a malformed string", at_);
  token.text = *node->as<std::string>();
  at_ = end + 1;
  return token;
}

Result<ExpressionToken> ExpressionLexer::quoted_name(char closing) {
  ExpressionToken token;
  token.at = at_;
  token.kind = Kind::kQuoted;
  const std::size_t end = input_.find(closing, at_ + 1);
  if (end == std::string_view::npos) return refuse("an unterminated name", at_);
  token.text = input_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return token;
}

}  // namespace moraine
