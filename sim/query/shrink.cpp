#include "sim/query/shrink.h"

#include "query/syntax/tree.h"

namespace moraine::sim {
namespace {

class Shrinker {
 public:
  Shrinker(QueryTables& tables, QueryCase& query, const Fails& fails, std::size_t runs_max)
      : tables_(tables), query_(query), fails_(fails), runs_max_(runs_max) {}

  void run() {
    bool smaller = true;
    while (smaller && runs_ < runs_max_) {
      smaller = clauses();
      smaller = terms() || smaller;
      smaller = rows() || smaller;
    }
  }

 private:
  bool still_fails(const QueryTables& tables, const QueryCase& query) {
    return ++runs_ < runs_max_ && fails_(tables, query);
  }
  // Keeps a change of the query if it still fails.
  template <class Change>
  bool attempt(const Change& change) {
    QueryCase candidate = query_;
    if (!change(candidate) || !still_fails(tables_, candidate)) return false;
    query_ = std::move(candidate);
    return true;
  }
  template <class Items>
  static bool erase_at(Items& items, std::size_t at) {
    if (at >= items.size()) return false;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  bool clauses() {
    bool any = false;
    const auto drop = [&](auto member) {
      any = attempt([&](QueryCase& query) {
              if (!(query.*member)) return false;
              (query.*member).reset();
              return true;
            }) ||
            any;
    };
    drop(&QueryCase::where);
    drop(&QueryCase::having);
    drop(&QueryCase::offset);
    any = attempt([](QueryCase& query) {
            const bool had = query.totals != query::Totals::kNone;
            query.totals = query::Totals::kNone;
            return had;
          }) ||
          any;
    // Without ORDER BY the order is not determined, and LIMIT makes no sense.
    any = attempt([](QueryCase& query) {
            const bool had = query.limit.has_value() || !query.order_by.empty();
            query.limit.reset();
            query.offset.reset();
            query.order_by.clear();
            query.key_order.clear();
            query.ordered = false;
            return had;
          }) ||
          any;
    for (std::size_t i = query_.joins.size(); i-- > 0;) {
      any = attempt([&](QueryCase& query) { return erase_at(query.joins, i); }) || any;
      any = attempt([&](QueryCase& query) {
              if (i >= query.joins.size() || !query.joins[i].predicate) return false;
              query.joins[i].predicate.reset();
              return true;
            }) ||
            any;
    }
    for (std::size_t i = query_.projections.size(); i-- > 0;) {
      any = attempt([&](QueryCase& query) {
              return !query.is_star && !query.numbers_groups && !(query.approximate && i == 0) &&
                     query.projections.size() > 1 && erase_at(query.projections, i);
            }) ||
            any;
    }
    for (std::size_t i = query_.group_by.size(); i-- > 0;) {
      any = attempt([&](QueryCase& query) {
              return query.group_by.size() > 1 && erase_at(query.group_by, i);
            }) ||
            any;
    }
    return any;
  }

  // All terms of the query, in a fixed order.
  static std::vector<Term*> roots(QueryCase& query) {
    std::vector<Term*> all;
    for (QueryCase& inner : query.subquery) {
      for (Term* term : roots(inner)) all.push_back(term);
    }
    for (QueryJoin& join : query.joins) {
      for (Term& key : join.left_keys) all.push_back(&key);
      for (QueryItem& array : join.arrays) all.push_back(&array.term);
      if (join.predicate) all.push_back(&*join.predicate);
      if (join.within) all.push_back(&*join.within);
    }
    if (query.where) all.push_back(&*query.where);
    for (QueryItem& item : query.group_by) all.push_back(&item.term);
    if (query.having) all.push_back(&*query.having);
    for (QueryOrder& order : query.order_by) all.push_back(&order.term);
    for (QueryItem& item : query.projections) all.push_back(&item.term);
    return all;
  }
  static void collect(Term& term, std::vector<Term*>& all) {
    all.push_back(&term);
    for (Term& operand : term.operands) collect(operand, all);
  }
  static std::vector<Term*> all_terms(QueryCase& query) {
    std::vector<Term*> all;
    for (Term* root : roots(query)) collect(*root, all);
    return all;
  }

  // Puts an operand, or a literal, in the place of an operation.
  bool terms() {
    bool any = false;
    for (std::size_t at = 0; at < all_terms(query_).size(); ++at) {
      const std::size_t operands = all_terms(query_)[at]->operands.size();
      bool changed = false;
      for (std::size_t i = 0; i < operands && !changed; ++i) {
        changed = attempt([&](QueryCase& query) {
          Term& term = *all_terms(query)[at];
          if (term.operands[i].type != term.type) return false;
          Term operand = term.operands[i];
          term = std::move(operand);
          return true;
        });
      }
      if (!changed && operands > 0) {
        changed = attempt([&](QueryCase& query) {
          Term& term = *all_terms(query)[at];
          if (term.type != ValueType::kBoolean) return false;
          term = literal_term(true);
          return true;
        });
      }
      any = any || changed;
    }
    return any;
  }

  // Halves, quarters, ... of the rows of each table.
  bool rows() {
    bool any = false;
    for (std::size_t table = 0; table < kQueryTables; ++table) {
      std::size_t part = (tables_.tables[table].rows.size() + 1) / 2;
      while (part > 0 && !tables_.tables[table].rows.empty()) {
        bool removed = false;
        for (std::size_t at = 0; at < tables_.tables[table].rows.size();) {
          QueryTables candidate = tables_;
          auto& rows = candidate.tables[table].rows;
          const auto from = rows.begin() + static_cast<std::ptrdiff_t>(at);
          const std::size_t count = std::min(part, rows.size() - at);
          rows.erase(from, from + static_cast<std::ptrdiff_t>(count));
          if (still_fails(candidate, query_)) {
            tables_ = std::move(candidate);
            removed = any = true;
          } else {
            at += part;
          }
        }
        if (!removed || part == 1) part /= 2;
        if (runs_ >= runs_max_) return any;
      }
    }
    return any;
  }

  QueryTables& tables_;
  QueryCase& query_;
  const Fails& fails_;
  const std::size_t runs_max_;
  std::size_t runs_ = 0;
};

}  // namespace

void shrink(QueryTables& tables, QueryCase& query, const Fails& fails, std::size_t runs_max) {
  Shrinker(tables, query, fails, runs_max).run();
}

}  // namespace moraine::sim
