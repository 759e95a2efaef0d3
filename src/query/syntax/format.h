// Formats a syntax tree as text.
//
// Promise    Parsing the text gives an equal tree. Operands that have operators of their own are
//            put in parentheses, always: `(a + b) * c`, `(a = 1) AND (b = 2)`.
// Threading  Pure.
// Tests      format_test.cpp (random trees), parse_fuzz.cpp.
#pragma once

#include <string>
#include <string_view>

#include "query/syntax/tree.h"

namespace moraine::query {

struct FormatOptions {
  int syntax_version = 1;  // 1: names in brackets; later: in backticks.
  bool aliases = true;     // False: aliases inside expressions are left out.
};

std::string format(const SelectQuery& query, const FormatOptions& options = {});
// With its alias.
std::string format(const Node& node, const FormatOptions& options = {});
// As a name in a query: in brackets or backticks where needed.
std::string format_name(std::string_view name, int syntax_version = 1);
// The name of an output column: the alias, the name of a column, or the text of the expression.
std::string output_name(const Node& node, int syntax_version = 1);

}  // namespace moraine::query
