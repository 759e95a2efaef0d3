#include "sim/query/random_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "query/syntax/format.h"
#include "sim/query/sqlite.h"

namespace moraine::sim {
namespace {

using T = ValueType;
using query::Totals;

std::string alias_of(std::size_t table) {
  return fmt::format("a{}", table);
}

class QueryMaker {
 public:
  QueryMaker(SeededRandom& random, const QueryTables& tables, QueryCase& query, bool is_inner)
      : random_(random),
        tables_(tables),
        query_(query),
        is_inner_(is_inner),
        terms_(random, query.dialect, query.features, query.placeholders) {}

  void make();

 private:
  bool one_in(std::uint64_t n) { return random_.one_in(n); }
  void feature(Feature feature) { query_.features.add(feature); }

  Term column_term(std::size_t table, const ColumnSchema& column);
  void add_table(std::size_t table);
  void from_subquery();
  void add_joins();
  bool join(std::size_t table);
  std::optional<Term> inner_condition(std::size_t table);
  void array_join();
  void project_values();
  void group_values();
  Term join_key(const ColumnSchema& column);
  void where();
  void plain();
  void star();
  void grouped();
  void group_keys(TermScope& scope);
  void having(const TermScope& scope);
  void order(const TermScope& scope, bool is_grouped);
  void limit();
  void project(const TermScope& scope);

  SeededRandom& random_;
  const QueryTables& tables_;
  QueryCase& query_;
  const bool is_inner_;
  TermMaker terms_;
  TermScope scope_;
  std::vector<Term> ties_;   // Together they determine a row.
  std::vector<Term> names_;  // Of all columns in the order of `*`.
  bool joins_one_ = true;    // Joins find at most one row each.
};

Term QueryMaker::column_term(std::size_t table, const ColumnSchema& column) {
  const std::string name = query::format_name(column.name, query_.dialect.syntax_version);
  if (name != column.name) feature(Feature::kQuotedName);
  const bool is_narrow = query_.dialect.wrapping && physical_type(column.type) == T::kUint64;
  return {.type = physical_type(column.type),
          .yt = query_.has_aliases ? alias_of(table) + "." + name : name,
          .sql = fmt::format("a{}.{}", table, sql_name(column.name)),
          .is_column = !is_narrow};
}

void QueryMaker::add_table(std::size_t table) {
  const QueryTable& source = tables_.tables[table];
  for (const ColumnSchema& column : source.schema->columns) {
    Term term = column_term(table, column);
    if (!column.expression.empty()) feature(Feature::kComputedKey);
    const bool is_unique = column.name == source.unique;
    if (table == 0 && column.key) scope_.keys.push_back(term);
    if (table == 0 && is_unique) scope_.unique.push_back(term);
    if (table == 0) scope_.of_unique.push_back(term);
    if (column.key) ties_.push_back(term);
    names_.push_back(term);
    if (column.type != ColumnType::kAny) {
      scope_.leaves.push_back(std::move(term));
      continue;
    }
    if (!scope_.values) scope_.values.emplace();
    if (column.name == "y") scope_.values->map = std::move(term);
    if (column.name == "l") scope_.values->numbers = std::move(term);
    if (column.name == "m") scope_.values->texts = std::move(term);
    if (column.name == "t") scope_.values->pair = std::move(term);
  }
}

void QueryMaker::array_join() {
  feature(Feature::kArrayJoin);
  QueryJoin join;
  join.left = one_in(2);
  join.number = query_.joins.size();
  if (join.left) feature(Feature::kLeftArrayJoin);
  const bool two = one_in(2);
  if (two) feature(Feature::kParallelArrays);
  const bool numbers_first = one_in(2);
  TermScope items;
  for (std::size_t i = 0; i < (two ? 2 : 1); ++i) {
    const bool numbers = numbers_first == (i == 0);
    const Term& list = numbers ? scope_.values->numbers : scope_.values->texts;
    join.arrays.push_back({.term = list, .name = fmt::format("x{}{}", join.number, i)});
    items.leaves.push_back(
        {.type = numbers ? T::kInt64 : T::kString,
         .yt = join.arrays.back().name,
         .sql = fmt::format("json_extract({}, '$[' || n{}.n || ']')", list.sql, join.number)});
  }
  if (one_in(2)) {
    feature(Feature::kArrayJoinPredicate);
    join.predicate = terms_.condition(items, 1);
  }
  for (const Term& item : items.leaves) {
    ties_.push_back(item);
    names_.push_back(item);
    scope_.leaves.push_back(item);
  }
  query_.joins.push_back(std::move(join));
}

void QueryMaker::from_subquery() {
  feature(Feature::kSubquery);
  QueryCase inner;
  inner.dialect = query_.dialect;
  inner.placeholders = query_.placeholders;
  inner.features = query_.features;
  inner.upper_case = query_.upper_case;
  inner.says_select = true;
  QueryMaker(random_, tables_, inner, /*is_inner=*/true).make();
  query_.features = inner.features;
  query_.placeholders = inner.placeholders;
  if (!inner.group_by.empty()) feature(Feature::kGroupedSubquery);
  for (const QueryItem& item : inner.projections) {
    Term term = {.type = item.term.type,
                 .yt = query_.has_aliases ? "a0." + item.name : item.name,
                 .sql = "a0." + sql_name(item.name)};
    ties_.push_back(term);
    names_.push_back(term);
    scope_.leaves.push_back(std::move(term));
  }
  query_.subquery.push_back(std::move(inner));
}

// A column of this type from the left, or an expression.
Term QueryMaker::join_key(const ColumnSchema& column) {
  const ValueType type = physical_type(column.type);
  if (auto term = terms_.leaf(type, scope_); term && !one_in(4)) return std::move(*term);
  return terms_.make(type, scope_, 1);
}

// Of a subquery over this table. Rarely.
std::optional<Term> QueryMaker::inner_condition(std::size_t table) {
  if (!one_in(6)) return std::nullopt;
  feature(Feature::kJoinOfSubquery);
  const bool has_aliases = std::exchange(query_.has_aliases, false);
  TermScope scope;
  for (const ColumnSchema& column : tables_.tables[table].schema->columns) {
    scope.leaves.push_back(column_term(table, column));
    if (column.key) scope.keys.push_back(scope.leaves.back());
  }
  query_.has_aliases = has_aliases;
  return terms_.condition(scope, 1);
}

bool QueryMaker::join(std::size_t table) {
  const QueryTable& right = tables_.tables[table];
  QueryJoin join;
  join.table = table;
  join.left = one_in(2);
  join.is_using = !query_.has_aliases;
  std::vector<const ColumnSchema*> keys;
  for (const ColumnSchema& column : right.schema->columns) {
    if (column.key && column.expression.empty()) keys.push_back(&column);
    if (!column.expression.empty()) feature(Feature::kJoinComputedKey);
  }
  // A prefix of the key. A computed column is known when its argument is.
  if (keys.size() > 1 && query_.has_aliases && one_in(3)) {
    keys.resize(1);
    feature(Feature::kJoinKeyPrefix);
    joins_one_ = false;
  }
  join.within = inner_condition(table);
  TermScope right_scope;
  for (const ColumnSchema& column : right.schema->columns) {
    right_scope.leaves.push_back(column_term(table, column));
    if (column.key) right_scope.keys.push_back(right_scope.leaves.back());
  }
  for (const ColumnSchema* key : keys) {
    if (join.is_using) {
      const auto same = std::ranges::find(names_, key->name, &Term::yt);
      if (same == names_.end()) return false;
      join.left_keys.push_back(*same);
    } else {
      join.left_keys.push_back(join_key(*key));
    }
    join.right_keys.push_back(column_term(table, *key));
  }
  feature(join.is_using ? Feature::kJoinUsing : Feature::kJoinOn);
  if (join.left) feature(Feature::kLeftJoin);
  if (one_in(3)) {
    feature(Feature::kJoinPredicate);
    join.predicate = terms_.condition(right_scope, 1);
  }
  for (std::size_t i = 0; i < right_scope.leaves.size(); ++i) {
    const ColumnSchema& column = right.schema->columns[i];
    const Term& term = right_scope.leaves[i];
    if (column.key) ties_.push_back(term);
    const bool hidden =
        join.is_using && std::ranges::find(keys, column.name, &ColumnSchema::name) != keys.end();
    if (hidden) continue;
    names_.push_back(term);
    scope_.leaves.push_back(term);
  }
  query_.joins.push_back(std::move(join));
  return true;
}

void QueryMaker::add_joins() {
  const bool arrays = scope_.values.has_value() && one_in(4);
  if (arrays) array_join();
  if (arrays && one_in(4)) array_join();
  if (one_in(2)) return;
  const bool first = join(1);
  if (first && one_in(3) && join(2)) feature(Feature::kTwoJoins);
}

void QueryMaker::where() {
  if (one_in(5)) return;
  feature(Feature::kWhere);
  query_.where = terms_.condition(scope_, 1 + static_cast<int>(random_.below(3)));
}

void QueryMaker::make() {
  terms_.allow_avg = !is_inner_;
  if (query_.dialect.canonical_nulls) feature(Feature::kCanonicalNulls);
  if (query_.dialect.wrapping) feature(Feature::kWrappingNumbers);
  if (query_.dialect.syntax_version >= 2) feature(Feature::kSyntaxVersion2);
  if (query_.upper_case) feature(Feature::kUpperCaseKeywords);
  query_.has_aliases = one_in(2);
  if (!is_inner_ && one_in(6)) {
    from_subquery();
    if (one_in(3)) add_joins();
    if (!query_.joins.empty()) feature(Feature::kSubqueryWithJoin);
  } else {
    add_table(0);
    add_joins();
  }
  if (one_in(3)) {
    grouped();
  } else {
    plain();
  }
}

void QueryMaker::star() {
  feature(Feature::kStar);
  query_.is_star = true;
  for (const Term& name : names_) query_.projections.push_back({.term = name, .name = ""});
}

void QueryMaker::project(const TermScope& scope) {
  const std::size_t count = 1 + random_.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_bare = !is_inner_ && query_.group_by.empty() && one_in(4);
    if (is_bare && i < names_.size()) {
      const bool used = std::ranges::any_of(
          query_.projections, [&](const QueryItem& item) { return item.term.yt == names_[i].yt; });
      if (!used) query_.projections.push_back({.term = names_[i], .name = ""});
      if (!used) continue;
    }
    feature(Feature::kAlias);
    query_.projections.push_back({.term = terms_.any(scope, static_cast<int>(random_.below(3))),
                                  .name = fmt::format("{}{}", is_inner_ ? 'p' : 'r', i)});
  }
}

// Of type any.
void QueryMaker::project_values() {
  if (!scope_.values || is_inner_ || !one_in(4)) return;
  const auto add = [&](const char* name, Term term) {
    query_.projections.push_back({.term = std::move(term), .name = name});
  };
  if (one_in(2)) add("y0", scope_.values->map);
  if (one_in(2)) add("y1", terms_.mixed_value(scope_));
  if (one_in(2)) add("y2", one_in(2) ? scope_.values->numbers : scope_.values->texts);
}

void QueryMaker::plain() {
  TermScope with_aliases = scope_;
  if (!is_inner_ && one_in(4)) {
    star();
  } else {
    project(scope_);
    project_values();
    // WHERE and ORDER BY see the aliases.
    for (const QueryItem& item : query_.projections) {
      if (item.name.empty() || item.term.type == T::kAny || !one_in(3)) continue;
      feature(Feature::kAliasInWhere);
      with_aliases.leaves.push_back(
          {.type = item.term.type, .yt = item.name, .sql = write_sql(item.term)});
    }
  }
  std::swap(scope_, with_aliases);
  where();
  order(scope_, /*is_grouped=*/false);
}

void QueryMaker::group_keys(TermScope& scope) {
  query_.numbers_groups = !is_inner_ && query_.dialect.syntax_version >= 3;
  const std::size_t count = query_.numbers_groups ? 1 : 1 + random_.below(3);
  // Null keys cannot have totals.
  const bool totals = !is_inner_ && one_in(4);
  if (totals) query_.totals = Totals::kBeforeHaving;
  for (std::size_t i = 0; i < count; ++i) {
    QueryItem key;
    key.name = fmt::format("g{}", i);
    if (one_in(8)) {
      feature(Feature::kGroupByConstant);
      key.term = {.type = T::kInt64, .yt = "(0 + 1)", .sql = "(0 + 1)"};
    } else if (one_in(2)) {
      feature(Feature::kGroupByExpression);
      key.term = terms_.any(scope_, 2);
    } else {
      key.term = scope_.leaves[random_.below(scope_.leaves.size())];
    }
    if (totals) {
      const ValueType type = key.term.type;
      key.term = {.type = type,
                  .yt = "if_null($0, $1)",
                  .sql = "ifnull($0, $1)",
                  .operands = {key.term, terms_.literal(type)}};
    }
    const bool is_bare = key.term.is_column && key.term.operands.empty() &&
                         std::ranges::none_of(query_.group_by, [&](const QueryItem& other) {
                           return other.term.yt == key.term.yt;
                         });
    if (is_bare && one_in(2) && !query_.numbers_groups) key.name.clear();
    if (query_.numbers_groups) {
      feature(Feature::kProjectionNumber);
      key.name = "key";
      query_.projections.push_back(key);
      query_.projections.back().term.is_group_key = true;
    }
    Term leaf = {.type = key.term.type,
                 .yt = key.name.empty() ? key.term.yt : key.name,
                 .sql = write_sql(key.term),
                 .is_group_key = true};
    scope.leaves.push_back(leaf);
    query_.group_by.push_back(std::move(key));
  }
}

void QueryMaker::having(const TermScope& scope) {
  if (!one_in(3)) return;
  feature(Feature::kHaving);
  query_.having = terms_.condition(scope, 1);
  if (query_.totals == Totals::kNone) return;
  if (one_in(2)) query_.totals = Totals::kAfterHaving;
  feature(query_.totals == Totals::kAfterHaving ? Feature::kHavingThenTotals
                                                : Feature::kTotalsThenHaving);
}

// A key and aggregates of type any. Keys of queries with totals are not null.
void QueryMaker::group_values() {
  if (one_in(4)) {
    feature(Feature::kAnyMinMax);
    const char* const form = one_in(2) ? "min($0)" : "max($0)";
    query_.projections.push_back({.term = {.type = T::kAny,
                                           .yt = form,
                                           .sql = form,
                                           .operands = {terms_.mixed_value(scope_)}},
                                  .name = "y8"});
  }
  if (query_.totals != Totals::kNone || query_.numbers_groups || !one_in(4)) return;
  feature(Feature::kAnyGroupBy);
  const Term key = terms_.mixed_value(scope_);
  query_.group_by.push_back({.term = key, .name = "gy"});
  const Term leaf = {.type = T::kAny, .yt = "gy", .sql = write_sql(key), .is_group_key = true};
  query_.projections.push_back({.term = leaf, .name = "y9"});
  ties_.push_back(leaf);
}

void QueryMaker::grouped() {
  feature(Feature::kGroupBy);
  where();
  TermScope groups;
  groups.rows = &scope_;
  group_keys(groups);
  if (query_.totals != Totals::kNone) feature(Feature::kTotals);
  having(groups);
  if (!is_inner_ && !query_.numbers_groups && one_in(12)) {
    query_.approximate = true;
    query_.projections.push_back({.term = terms_.cardinality(scope_), .name = "c"});
  }
  project(groups);
  if (one_in(8)) {
    feature(Feature::kFirst);
    const Term& key = groups.leaves[random_.below(groups.leaves.size())];
    const auto at = static_cast<std::size_t>(&key - groups.leaves.data());
    query_.projections.push_back(
        {.term = {.type = key.type,
                  .yt = "first(" + write_yt(query_.group_by[at].term) + ")",
                  .sql = "max(" + key.sql + ")"},
         .name = is_inner_ ? "p9" : "r9"});
    // Of all rows, in the row of totals, it is not determined.
    if (query_.totals != Totals::kNone) query_.projections.pop_back();
  }
  ties_ = groups.leaves;
  if (scope_.values && !is_inner_) group_values();
  order(groups, /*is_grouped=*/true);
}

void QueryMaker::order(const TermScope& scope, bool is_grouped) {
  if (one_in(2)) {
    // Whole groups, in any order; or the first rows by key.
    const bool by_key = !is_grouped && query_.subquery.empty() && joins_one_ && !is_inner_;
    if (!by_key || one_in(2)) return;
    feature(Feature::kLimitInKeyOrder);
    query_.ordered = true;
    for (const Term& key : scope_.keys) query_.key_order.push_back(key.sql);
    for (const QueryJoin& join : query_.joins) {
      if (!join.arrays.empty()) query_.key_order.push_back(fmt::format("n{}.n", join.number));
    }
    limit();
    return;
  }
  feature(Feature::kOrderBy);
  query_.ordered = true;
  const std::size_t count = random_.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    const bool descending = one_in(2);
    if (descending) feature(Feature::kDescending);
    query_.order_by.push_back({.term = terms_.any(scope, 1), .descending = descending});
  }
  if (!is_grouped && scope.values && one_in(4)) {
    feature(Feature::kAnyOrderBy);
    query_.order_by.push_back({.term = terms_.mixed_value(scope), .descending = one_in(2)});
  }
  for (const Term& tie : ties_) {
    query_.order_by.push_back({.term = tie, .descending = one_in(4)});
  }
  limit();
}

void QueryMaker::limit() {
  feature(Feature::kLimit);
  query_.limit = one_in(8) ? 0 : random_.below(30);
  if (one_in(4)) query_.limit = 1000;
  // HAVING without ORDER BY allows no OFFSET; there is none here.
  if (!one_in(3)) return;
  feature(Feature::kOffset);
  query_.offset = random_.below(10);
}

}  // namespace

QueryCase random_query(SeededRandom& random, const QueryTables& tables) {
  QueryCase query;
  query.dialect.canonical_nulls = random.one_in(3);
  query.dialect.wrapping = tables.wrapping;
  query.dialect.syntax_version = random.one_in(3) ? 2 : random.one_in(6) ? 3 : 1;
  query.dialect.expression_builder_version = random.one_in(2) ? 2 : 1;
  query.upper_case = random.one_in(3);
  query.says_select = random.one_in(2);
  QueryMaker(random, tables, query, /*is_inner=*/false).make();
  return query;
}

}  // namespace moraine::sim
