#include "query/syntax/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "query/syntax/source_error.h"

namespace moraine::query {
namespace {

struct KeywordName {
  std::string_view word;
  Keyword keyword;
};
constexpr KeywordName kKeywords[] = {
    {"and", Keyword::kAnd},
    {"as", Keyword::kAs},
    {"asc", Keyword::kAsc},
    {"between", Keyword::kBetween},
    {"case", Keyword::kCase},
    {"cast", Keyword::kCast},
    {"desc", Keyword::kDesc},
    {"else", Keyword::kElse},
    {"end", Keyword::kEnd},
    {"escape", Keyword::kEscape},
    {"false", Keyword::kFalse},
    {"from", Keyword::kFrom},
    {"having", Keyword::kHaving},
    {"ilike", Keyword::kIlike},
    {"in", Keyword::kIn},
    {"inf", Keyword::kInf},
    {"is", Keyword::kIs},
    {"join", Keyword::kJoin},
    {"left", Keyword::kLeft},
    {"like", Keyword::kLike},
    {"limit", Keyword::kLimit},
    {"not", Keyword::kNot},
    {"null", Keyword::kNull},
    {"offset", Keyword::kOffset},
    {"on", Keyword::kOn},
    {"or", Keyword::kOr},
    {"regexp", Keyword::kRegexp},
    {"rlike", Keyword::kRlike},
    {"select", Keyword::kSelect},
    {"then", Keyword::kThen},
    {"transform", Keyword::kTransform},
    {"true", Keyword::kTrue},
    {"using", Keyword::kUsing},
    {"when", Keyword::kWhen},
    {"where", Keyword::kWhere},
};
// The first word alone is a name.
struct KeywordPair {
  std::string_view first;
  std::string_view second;
  Keyword keyword;
};
constexpr KeywordPair kPairs[] = {
    {"array", "join", Keyword::kArrayJoin}, {"group", "by", Keyword::kGroupBy},
    {"order", "by", Keyword::kOrderBy},     {"with", "hint", Keyword::kWithHint},
    {"with", "index", Keyword::kWithIndex}, {"with", "totals", Keyword::kWithTotals},
};
constexpr std::string_view kSymbols[] = {"<<", ">>", "<=", ">=", "<>", "!=", "||", "=", "<", ">",
                                         "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^", "~", "(",
                                         ")",  ",",  "#",  ".",  "{",  "}",  "[",  "]"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
bool equals(std::string_view word, std::string_view lower_case) {
  return std::ranges::equal(word, lower_case, {}, lower);
}
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char low = lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}
bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

}  // namespace

Keyword find_keyword(std::string_view word) {
  const auto* found =
      std::ranges::find_if(kKeywords, [&](const KeywordName& k) { return equals(word, k.word); });
  return found == std::end(kKeywords) ? Keyword::kNone : found->keyword;
}

void Lexer::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

Result<Token> Lexer::next() {
  skip_space();
  Token token;
  token.at = token.end = at_;
  if (at_ == text_.size()) return token;
  const char c = text_[at_];
  if (is_digit(c)) return number();
  after_dot_ = c == '.';
  if (c == '\'' || c == '"') return quoted(c, TokenKind::kString);
  if (c == '`') return quoted(c, TokenKind::kName);
  if (c == '[' && brackets_are_names_) return bracketed_name();
  if (is_letter(c)) return word();
  if (c == '%') {
    for (const auto& [spelling, keyword] :
         {std::pair{std::string_view("%true"), Keyword::kTrue}, {"%false", Keyword::kFalse}}) {
      const char after = at(at_ + spelling.size());
      if (!text_.substr(at_).starts_with(spelling) || is_letter(after) || is_digit(after)) continue;
      at_ += spelling.size();
      token.kind = TokenKind::kKeyword;
      token.keyword = keyword;
      token.text = spelling;
      token.end = at_;
      return token;
    }
  }
  for (const std::string_view symbol : kSymbols) {
    if (!text_.substr(at_).starts_with(symbol)) continue;
    at_ += symbol.size();
    token.kind = TokenKind::kSymbol;
    token.text = symbol;
    token.end = at_;
    return token;
  }
  return source_error(text_, at_, "unexpected character");
}

bool Lexer::skip_word(std::string_view lower_case) {
  const std::size_t start = at_;
  skip_space();
  std::size_t end = at_;
  while (is_letter(at(end)) || is_digit(at(end))) ++end;
  if (at_ > start && equals(text_.substr(at_, end - at_), lower_case)) {
    at_ = end;
    return true;
  }
  at_ = start;
  return false;
}

Token Lexer::word() {
  Token token;
  token.at = at_;
  while (is_letter(at(at_)) || is_digit(at(at_))) ++at_;
  token.text = text_.substr(token.at, at_ - token.at);
  token.keyword = find_keyword(token.text);
  for (const KeywordPair& pair : kPairs) {
    if (equals(token.text, pair.first) && skip_word(pair.second)) token.keyword = pair.keyword;
  }
  token.kind = token.keyword == Keyword::kNone ? TokenKind::kName : TokenKind::kKeyword;
  token.end = at_;
  return token;
}

Result<Token> Lexer::number() {
  Token token;
  token.at = at_;
  std::size_t end = at_;
  while (is_digit(at(end))) ++end;
  bool fraction = false;
  if (!after_dot_) {
    if (at(end) == '.') {
      fraction = true;
      ++end;
      while (is_digit(at(end))) ++end;
    }
    if (at(end) == 'e' || at(end) == 'E') {
      fraction = true;
      ++end;
      if (at(end) == '+' || at(end) == '-') ++end;
      while (is_digit(at(end))) ++end;
    }
  }
  after_dot_ = false;
  const char* first = text_.data() + at_;
  const char* last = text_.data() + end;
  if (fraction) {
    token.kind = TokenKind::kDouble;
    // from_chars takes "1." and "1.e3" as it takes "1.0".
    const auto [stop, code] = std::from_chars(first, last, token.number);
    if (code != std::errc() || stop != last) {
      return source_error(text_, at_, "a number is malformed or out of range");
    }
  } else {
    token.kind = TokenKind::kInteger;
    const auto [stop, code] = std::from_chars(first, last, token.word);
    const bool is_unsigned = at(end) == 'u' || at(end) == 'U';
    constexpr std::uint64_t kSigned = std::uint64_t{1} << 63;
    if (code != std::errc() || stop != last || (!is_unsigned && token.word > kSigned)) {
      return source_error(text_, at_, "an integer is out of range");
    }
    if (is_unsigned) {
      token.kind = TokenKind::kUnsigned;
      ++end;
    }
  }
  if (is_letter(at(end)) || is_digit(at(end))) {
    return source_error(text_, end, "a letter follows a number");
  }
  at_ = token.end = end;
  return token;
}

Result<void> Lexer::unescape(std::string& out) {
  const char c = at(at_);
  if (c == 'x') {
    const int high = hex_digit(at(at_ + 1));
    const int low = hex_digit(at(at_ + 2));
    if (high < 0 || low < 0) return source_error(text_, at_, "\\x needs two hexadecimal digits");
    out.push_back(static_cast<char>(high * 16 + low));
    at_ += 3;
    return {};
  }
  if (is_octal(c)) {
    int byte = 0;
    for (int digits = 0; digits < 3 && is_octal(at(at_)); ++digits)
      byte = byte * 8 + at(at_++) - '0';
    out.push_back(static_cast<char>(byte));
    return {};
  }
  out.push_back(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
  ++at_;
  return {};
}

Result<Token> Lexer::quoted(char quote, TokenKind kind) {
  Token token;
  token.kind = kind;
  token.at = at_++;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] != '\\') {
      token.text.push_back(text_[at_++]);
      continue;
    }
    ++at_;
    if (at_ == text_.size()) break;
    TRY_VOID(unescape(token.text));
  }
  if (at_ == text_.size()) {
    return source_error(text_, token.at,
                        kind == TokenKind::kName ? "a name has no end" : "a string has no end");
  }
  token.end = ++at_;
  if (kind == TokenKind::kName && token.text.empty()) {
    return source_error(text_, token.at, "a name is empty");
  }
  return token;
}

Result<Token> Lexer::bracketed_name() {
  Token token;
  token.kind = TokenKind::kName;
  token.at = at_;
  std::size_t open = 0;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '[') ++open;
    if (text_[at_] == ']' && --open == 0) break;
  }
  if (at_ == text_.size()) return source_error(text_, token.at, "a name has no end");
  token.text = text_.substr(token.at + 1, at_ - token.at - 1);
  token.end = ++at_;
  if (token.text.empty()) return source_error(text_, token.at, "a name is empty");
  return token;
}

std::string quote(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == quote) {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (byte < ' ' || byte >= 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out.push_back(c);
    }
  }
  out.push_back(quote);
  return out;
}

}  // namespace moraine::query
