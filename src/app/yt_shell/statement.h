// Statements: what is typed into the shell, cut at its semicolons, and into words.
//
// clang-format off
//   script    = { statement ";" } [ statement ]
//   statement = query | EXPLAIN [ANALYZE] query | verb { word } | HELP | QUIT | EXIT
//   A semicolon inside quotes or brackets does not end a statement.
//   word      = { character | '...' | "..." | bracketed }      a bracketed part, such as a map in YSON,
//               keeps its quotes and may have spaces; "< FILE" at the end is input for the verb
// clang-format on
//
// Promise    Pure. Any text is cut; brackets that are never closed end with the script.
// Limits     kStatementBytesMax.
// Tests      statement_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace moraine::app {

inline constexpr std::size_t kStatementBytesMax = std::size_t{16} << 20;

// Collects text, and returns its statements without their semicolons.
class StatementBuffer {
 public:
  // kInvalidArgument: the statement becomes too long; it is dropped.
  Result<void> add(std::string_view text);
  // The next complete one; empty ones are skipped.
  std::optional<std::string> next();
  // What is not complete; empty: white space only.
  std::string rest() const;
  void clear();

 private:
  std::string text_;
  std::size_t at_ = 0;  // Scanned up to here.
  int depth_ = 0;
  char quote_ = 0;
};

enum class StatementKind : std::uint8_t { kQuery, kExplain, kAnalyze, kVerb, kHelp, kQuit };

struct Statement {
  StatementKind kind = StatementKind::kQuery;
  std::string query = {};               // Of a query, of EXPLAIN.
  std::vector<std::string> words = {};  // Of a verb, which is the first one.
  std::string input = {};               // The file after `<`.
};

// kInvalidArgument: neither a verb nor a query, or quotes that are not closed.
Result<Statement> parse_statement(std::string_view text);
Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace moraine::app
