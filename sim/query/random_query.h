// Random queries, as clauses that can be written in both dialects and taken away one by one.
//
// Promise    The same random numbers give the same query. `ordered`: the order of rows is
//            determined; otherwise answers are compared as sets of rows.
// Threading  One thread.
// Tests      query_campaign_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/syntax/tree.h"
#include "sim/query/random_tables.h"
#include "sim/query/random_terms.h"

namespace moraine::sim {

struct QueryItem {
  Term term;
  std::string name;  // Empty: no alias is written.
};

struct QueryJoin {
  bool left = false;
  // Of ARRAY JOIN: the lists with the names of their items, and its number. Then no keys.
  std::vector<QueryItem> arrays{};
  std::size_t number = 0;
  bool is_using = false;
  std::size_t table = 0;
  std::vector<Term> left_keys;
  std::vector<Term> right_keys;
  std::optional<Term> predicate;
  std::optional<Term> within;  // The right side is a subquery with this condition.
};

struct QueryOrder {
  Term term;
  bool descending = false;
};

struct QueryCase {
  Dialect dialect;
  bool upper_case = false;
  bool says_select = false;
  FeatureSet features;
  YsonMap placeholders;

  std::vector<QueryCase> subquery;  // None or one: instead of table 0.
  bool has_aliases = false;         // Columns are written as a0.name.
  std::vector<QueryJoin> joins;
  std::optional<Term> where;
  std::vector<QueryItem> group_by;
  std::optional<Term> having;
  query::Totals totals = query::Totals::kNone;
  std::vector<QueryOrder> order_by;
  std::optional<std::uint64_t> offset{};
  std::optional<std::uint64_t> limit{};
  std::vector<QueryItem> projections;
  bool is_star = false;         // Then projections say what `*` means.
  bool numbers_groups = false;  // Keys are the numbers of projections.
  bool approximate = false;     // The first projection is a cardinality.
  bool ordered = false;
  // For LIMIT without ORDER BY: the keys of the main table, as SQL.
  std::vector<std::string> key_order;

  std::string yt() const;
  std::string sql() const;
  // The row of WITH TOTALS; rows without it: none.
  std::string totals_sql() const;
};

QueryCase random_query(SeededRandom& random, const QueryTables& tables);

}  // namespace moraine::sim
