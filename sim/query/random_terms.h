// Random expressions in both dialects.
//
// Promise    Every term is atomic or in parentheses in both texts, and has its type. Evaluating it
//            fails for no row, and its result is determined: see sqlite.h for what is left out.
// Limits     `depth` nested operations, plus those of functions that wrap a term.
// Threading  One thread.
// Tests      query_campaign_test.cpp.
#pragma once

#include <optional>

#include "io/random.h"
#include "sim/query/features.h"
#include "sim/query/term.h"
#include "yson/node.h"

namespace moraine::sim {

// How the query is written and bound.
struct Dialect {
  bool canonical_nulls = false;
  bool wrapping = false;  // As QueryTables::wrapping.
  int syntax_version = 1;
  int expression_builder_version = 1;
};

// Columns of type any and of composite types (random_values.cpp).
struct RandomValues {
  Term map;
  Term numbers;
  Term texts;
  Term pair;
};

// What an expression may use.
struct TermScope {
  std::vector<Term> leaves;  // Columns, aliases, keys of GROUP BY.
  std::vector<Term> keys;    // Of these, the key columns of the main table.
  // An int64 column without equal values, and what it determines: for argmin.
  std::vector<Term> unique;
  std::vector<Term> of_unique;
  std::optional<RandomValues> values{};
  const TermScope* rows = nullptr;  // After GROUP BY: what aggregates are computed from.
};

class TermMaker {
 public:
  TermMaker(SeededRandom& random, const Dialect& dialect, FeatureSet& features,
            YsonMap& placeholders)
      : random_(random), dialect_(dialect), features_(features), placeholders_(placeholders) {}

  Term make(ValueType type, const TermScope& scope, int depth);
  // Of any type.
  Term any(const TermScope& scope, int depth);
  Term condition(const TermScope& scope, int depth);
  Term aggregate(ValueType type, const TermScope& rows);
  Term cardinality(const TermScope& rows);
  // Not a literal: a column, if there is one of this type.
  std::optional<Term> leaf(ValueType type, const TermScope& scope);
  Term literal(ValueType type);
  // Of type any. Requires: the scope has values.
  Term mixed_value(const TermScope& scope);
  // False: no results that are not exact, since sums of them depend on the order.
  bool allow_avg = true;

 private:
  bool one_in(std::uint64_t n) { return random_.one_in(n); }
  Term number(ValueType type, const TermScope& scope, int depth);
  Term signed_number(const TermScope& scope, int depth);
  Term signed_function(const TermScope& scope, int depth);
  Term unsigned_number(const TermScope& scope, int depth);
  Term real_number(const TermScope& scope, int depth);
  Term text(const TermScope& scope, int depth);
  Term time(const TermScope& scope, int depth);
  Term choice(ValueType type, const TermScope& scope, int depth);
  Term transform(ValueType type, const TermScope& scope, int depth);

  // Of columns of type any. Requires: the scope has values.
  std::optional<Term> of_values(ValueType type, const TermScope& scope, int depth);
  Term number_of_values(const TermScope& scope, int depth);
  Term text_of_values(const TermScope& scope, int depth);
  Term test_of_values(const TermScope& scope, int depth);
  Term compared_values(const TermScope& scope);

  // Conditions.
  Term comparison(const TermScope& scope, int depth);
  Term tuple_comparison(const TermScope& scope, int depth);
  Term in(const TermScope& scope, int depth);
  Term tuple_in(const TermScope& scope, int depth);
  Term between(const TermScope& scope, int depth);
  Term tuple_between(const TermScope& scope, int depth);
  Term like(const TermScope& scope, int depth);
  Term boolean_function(const TermScope& scope, int depth);

  std::optional<Term> small_unsigned(const TermScope& scope);

  // What a condition looks at: a column in most cases, a key column in many.
  Term subject(const TermScope& scope, int depth);
  std::vector<Term> subjects(const TermScope& scope, std::size_t count);
  Term constant(ValueType type);  // May be null.
  ValueType random_type();
  Term made(Feature feature, ValueType type, std::string yt, std::string sql,
            std::vector<Term> operands);
  std::string relation(const std::string& op, const std::string& a, const std::string& b) const {
    return sql_relation(op, a, b, dialect_.canonical_nulls);
  }

  SeededRandom& random_;
  const Dialect& dialect_;
  FeatureSet& features_;
  YsonMap& placeholders_;
};

}  // namespace moraine::sim
