// Tokens of the YT query language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace moraine::query {

// Words that cannot be names. Those of two words are one token, with any white space between.
enum class Keyword : std::uint8_t {
  kNone,
  kAnd,
  kArrayJoin,
  kAs,
  kAsc,
  kBetween,
  kCase,
  kCast,
  kDesc,
  kElse,
  kEnd,
  kEscape,
  kFalse,
  kFrom,
  kGroupBy,
  kHaving,
  kIlike,
  kIn,
  kInf,
  kIs,
  kJoin,
  kLeft,
  kLike,
  kLimit,
  kNot,
  kNull,
  kOffset,
  kOn,
  kOr,
  kOrderBy,
  kRegexp,
  kRlike,
  kSelect,
  kThen,
  kTransform,
  kTrue,
  kUsing,
  kWhen,
  kWhere,
  kWithHint,
  kWithIndex,
  kWithTotals,
};
// Of one word, in any case; kNone: a name.
Keyword find_keyword(std::string_view word);

enum class TokenKind : std::uint8_t {
  kEnd,
  kInteger,   // At most 2^63, which only a minus may precede.
  kUnsigned,  // 5u
  kDouble,
  kString,
  kName,  // Also one in brackets or backticks.
  kKeyword,
  kSymbol,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Keyword keyword = Keyword::kNone;
  std::size_t at = 0;  // Its first byte, and the byte after its last one.
  std::size_t end = 0;
  std::uint64_t word = 0;  // Of an integer.
  double number = 0;
  std::string text;  // Name, string without escapes, symbol.

  bool is(Keyword wanted) const { return kind == TokenKind::kKeyword && keyword == wanted; }
  bool is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
};

}  // namespace moraine::query
