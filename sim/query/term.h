// Term: an expression written in two dialects, YT's and SQLite's, so that one text can be compared
// with the other.
//
// Promise    Plain data. `$0` .. `$9` of a pattern stand for operands.
// Tests      query_campaign_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "moraine/value.h"

namespace moraine::sim {

struct Term {
  ValueType type = ValueType::kNull;
  std::string yt;
  std::string sql;
  std::vector<Term> operands{};
  // A key of GROUP BY: null in the row of WITH TOTALS.
  bool is_group_key = false;
  // A column of a table: its numbers are of the small domain.
  bool is_column = false;
};

std::string write_yt(const Term& term);
// `totals`: as the row of WITH TOTALS sees it.
std::string write_sql(const Term& term, bool totals = false);

// Values as literals. SQLite has no uint64: stored with the highest bit flipped, they keep their
// order.
std::string yt_literal(const Value& value);
std::string sql_literal(const Value& value);
Term literal_term(const Value& value);
std::int64_t flip(std::uint64_t value);
std::uint64_t unflip(std::int64_t value);

// Relations with and without canonical nulls, as SQL; operands are patterns ("$0") or texts.
std::string sql_relation(std::string_view op, const std::string& a, const std::string& b,
                         bool canonical);
// Tuples of equal size, compared from left to right.
std::string sql_tuple_relation(std::string_view op, const std::vector<std::string>& a,
                               const std::vector<std::string>& b, bool canonical);

}  // namespace moraine::sim
