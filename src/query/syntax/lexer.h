// Lexer: the text of a query as tokens.
//
// clang-format off
//   name     = letter { letter | digit | _ }  that is no keyword
//            | "[" any bytes "]"              inner brackets are counted; syntax version 1 only
//            | "`" bytes with C escapes "`"
//   integer  = digits          unsigned = digits "u"
//   double   = digits ( "." [digits] [exponent] | exponent )
//   string   = 'bytes with C escapes' | "the same"
//   escape   = \n \t \r \0 \\ \' \" \` \xHH \ooo; any other byte stands for itself
//   keyword  = in any case; GROUP BY and its kind with any white space between
// clang-format on
//
// Promise    Tokens come one by one; next() at the end returns kEnd each time. Never reads past the
//            text.
// Errors     kInvalidArgument with the position (source_error.h).
// Tests      lexer_test.cpp, parse_fuzz.cpp.
#pragma once

#include <string_view>

#include "base/result.h"
#include "query/syntax/token.h"

namespace moraine::query {

// 1: `[` begins a name. 2: `[` is an index. 3: also, an integer in GROUP BY or ORDER BY is the
// number of a projection.
inline constexpr int kSyntaxVersionMin = 1;
inline constexpr int kSyntaxVersionMax = 3;

class Lexer {
 public:
  explicit Lexer(std::string_view text, int syntax_version = kSyntaxVersionMin)
      : text_(text), brackets_are_names_(syntax_version == kSyntaxVersionMin) {}

  Result<Token> next();

 private:
  Result<Token> number();
  Result<Token> quoted(char quote, TokenKind kind);
  Result<Token> bracketed_name();
  Token word();
  bool skip_word(std::string_view lower_case);
  Result<void> unescape(std::string& out);
  void skip_space();
  char at(std::size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

  const std::string_view text_;
  const bool brackets_are_names_;
  std::size_t at_ = 0;
  bool after_dot_ = false;  // `t.0.1`: digits after a dot are an integer.
};

// The text in double quotes or backticks, so that the lexer reads it back.
std::string quote(std::string_view text, char quote = '"');

}  // namespace moraine::query
