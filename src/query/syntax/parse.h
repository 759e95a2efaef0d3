// Parses the YT query language.
//
// clang-format off
//   query    = [SELECT] ( "*" | item {"," item} ) FROM source [WITH INDEX path [[AS] alias]] {join}
//              [WHERE e] [GROUP BY item {"," item}] [totals] [ORDER BY order {"," order}]
//              [OFFSET integer] [LIMIT integer]                      SELECT is needed in subqueries
//   item     = e [AS alias]                          also in parentheses and in lists of arguments
//   source   = path [[AS] alias] [WITH HINT "yson"]
//            | "(" query ")" [[AS] alias] | "(" e AS alias {"," ...} ")" [[AS] alias]
//   join     = [LEFT] JOIN source ( USING col {"," col} | ON bits "=" bits ) [AND e]
//            | [LEFT] ARRAY JOIN e AS alias {"," ...} [AND e]
//   totals   = WITH TOTALS | HAVING e | HAVING e WITH TOTALS | WITH TOTALS HAVING e
//   order    = e [ASC | DESC]
//   e        = OR > AND > NOT > IS [NOT] NULL > (= != <>) > (< <= > >=, and the tests below)
//              > | > ^ > & > (<< >>) > (+ - ||) > (* / %) > unary (+ - ~) > atom    loosest first
//   tests    = sum [NOT] IN ( "(" [item {"," item}] ")" | {name} )
//            | sum [NOT] BETWEEN ( sum AND sum | "(" sum AND sum {"," sum AND sum} ")" )
//            | sum [NOT] (LIKE | ILIKE | RLIKE | REGEXP) sum [ESCAPE sum]
//   atom     = literal | "{" name "}" | [table "."] column | f(items) | "(" item {"," item} ")"
//            | TRANSFORM(e, (e, ..), (e, ..) [, e]) | CASE [e] WHEN e THEN e .. [ELSE e] END
//            | CAST(e AS type) | "(" query ")"
//              with syntax version 2 and up followed by { "." name | "." integer | "[" e "]" }
// clang-format on
//
// Promise    Pure. Texts of any content are parsed or rejected. Tokens: lexer.h.
// Limits     kQueryBytesMax, kQueryNodesMax, kQueryDepthMax (tree.h).
// Errors     kInvalidArgument with the position and an excerpt (source_error.h).
// Tests      parse_test.cpp, parse_error_test.cpp, format_test.cpp, parse_fuzz.cpp.
#pragma once

#include <string_view>

#include "base/result.h"
#include "query/syntax/tree.h"

namespace moraine::query {

inline constexpr std::size_t kQueryBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kQueryNodesMax = 250'000;

struct ParseOptions {
  int syntax_version = 1;  // lexer.h
};

Result<SelectQuery> parse_query(std::string_view text, const ParseOptions& options = {});
// One expression and nothing else: of a computed column, of lookups by condition.
Result<Node> parse_expression(std::string_view text, const ParseOptions& options = {});

}  // namespace moraine::query
