// Tokens of expressions. Internal to expression.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace moraine {

struct ExpressionToken {
  enum class Kind : std::uint8_t {
    kEnd,
    kInteger,
    kUnsigned,
    kDouble,
    kString,
    kName,    // Or a keyword: text() is compared without case.
    kQuoted,  // A name in brackets or backticks: never a keyword.
    kSymbol,
  };
  Kind kind = Kind::kEnd;
  std::string text;        // Unescaped.
  std::uint64_t word = 0;  // Of an integer.
  double number = 0;
  std::size_t at = 0;

  bool is_symbol(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool is_keyword(std::string_view lower_case) const;
};

class ExpressionLexer {
 public:
  explicit ExpressionLexer(std::string_view input) : input_(input) {}
  Result<ExpressionToken> next();

 private:
  Result<ExpressionToken> number();
  Result<ExpressionToken> string(char quote);
  Result<ExpressionToken> quoted_name(char closing);

  std::string_view input_;
  std::size_t at_ = 0;
};

}  // namespace moraine
