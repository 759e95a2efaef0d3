#include "client/select_conditions.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace moraine::client {
namespace {

using query::Expression;
using query::ExpressionKind;
using query::NullRelation;
using query::Operator;
using table::ValueCut;
using table::ValueSet;

// The values of one column for which a condition is true, and those for which it is false; for the
// others it is null.
struct TruthSets {
  std::size_t column = 0;
  ValueSet when_true;
  ValueSet when_false;
};

bool is_plain(const Value& value) {
  return value.type() != ValueType::kAny &&
         !(value.type() == ValueType::kDouble && std::isnan(value.as_double()));
}

bool is_usable_column(const Expression& e) {
  return e.kind == ExpressionKind::kColumn && e.type != ValueType::kAny &&
         e.type != ValueType::kNull;
}

// The values that are `op` a value, as the order of keys has them: null is least.
ValueSet related(Operator op, const Value& value) {
  const ValueCut begin = ValueCut::below(Value());
  const auto between = [](ValueCut from, ValueCut to) {
    return ValueSet::of(std::vector<table::ValueInterval>{{.from = from, .to = to}});
  };
  switch (op) {
    case Operator::kEqual: return between(ValueCut::below(value), ValueCut::above(value));
    case Operator::kNotEqual:
      return complement(between(ValueCut::below(value), ValueCut::above(value)));
    case Operator::kLess: return between(begin, ValueCut::below(value));
    case Operator::kLessOrEqual: return between(begin, ValueCut::above(value));
    case Operator::kGreater: return between(ValueCut::above(value), ValueCut::at_end());
    default: return between(ValueCut::below(value), ValueCut::at_end());
  }
}

TruthSets two_valued(std::size_t column, ValueSet when_true) {
  ValueSet when_false = complement(when_true);
  return {.column = column, .when_true = std::move(when_true), .when_false = std::move(when_false)};
}
TruthSets null_is_unknown(std::size_t column, const ValueSet& when_true) {
  return {.column = column,
          .when_true = intersect(when_true, ValueSet::all_but_null()),
          .when_false = intersect(complement(when_true), ValueSet::all_but_null())};
}

Operator mirrored(Operator op) {
  switch (op) {
    case Operator::kLess: return Operator::kGreater;
    case Operator::kLessOrEqual: return Operator::kGreaterOrEqual;
    case Operator::kGreater: return Operator::kLess;
    case Operator::kGreaterOrEqual: return Operator::kLessOrEqual;
    default: return op;
  }
}

std::optional<TruthSets> comparison(const Expression& e) {
  if (e.width != 1) return std::nullopt;
  const bool column_first = is_usable_column(e.operands[0]);
  const Expression& column = e.operands[column_first ? 0 : 1];
  const Expression& literal = e.operands[column_first ? 1 : 0];
  if (!is_usable_column(column) || !literal.is_literal() || !is_plain(literal.literal)) {
    return std::nullopt;
  }
  const Operator op = column_first ? e.op : mirrored(e.op);
  if (e.nulls == NullRelation::kNullIsLeast) {
    return two_valued(column.column, related(op, literal.literal));
  }
  if (literal.literal.is_null())
    return TruthSets{.column = column.column, .when_true = {}, .when_false = {}};
  return null_is_unknown(column.column, related(op, literal.literal));
}

bool all_plain_literals(const Expression& e) {
  return std::all_of(e.operands.begin() + 1, e.operands.end(), [](const Expression& item) {
    return item.is_literal() && is_plain(item.literal);
  });
}

std::optional<TruthSets> list(const Expression& e) {
  if (e.width != 1 || !is_usable_column(e.operands[0]) || !all_plain_literals(e)) {
    return std::nullopt;
  }
  const std::size_t column = e.operands[0].column;
  std::vector<Value> items;
  bool has_null = false;
  for (std::size_t i = 1; i < e.operands.size(); ++i) {
    has_null = has_null || e.operands[i].literal.is_null();
    items.push_back(e.operands[i].literal);
  }
  // Nothing is in an empty list, null neither.
  if (e.nulls == NullRelation::kNullIsLeast || items.empty()) {
    return two_valued(column, ValueSet::of(std::move(items)));
  }
  TruthSets sets = null_is_unknown(column, ValueSet::of(std::move(items)));
  if (has_null) sets.when_false = ValueSet();
  return sets;
}

std::optional<TruthSets> between(const Expression& e) {
  if (e.width != 1 || !is_usable_column(e.operands[0]) || !all_plain_literals(e) ||
      e.nulls != NullRelation::kNullIsLeast) {
    return std::nullopt;
  }
  ValueSet inside;
  for (std::size_t i = 1; i + 1 < e.operands.size(); i += 2) {
    inside = unite(inside, intersect(related(Operator::kGreaterOrEqual, e.operands[i].literal),
                                     related(Operator::kLessOrEqual, e.operands[i + 1].literal)));
  }
  return two_valued(e.operands[0].column, std::move(inside));
}

std::optional<TruthSets> truth_of(const Expression& e);

std::optional<TruthSets> logic(const Expression& e) {
  std::optional<TruthSets> all;
  const bool conjunction = e.kind == ExpressionKind::kAnd;
  for (const Expression& operand : e.operands) {
    std::optional<TruthSets> one = truth_of(operand);
    if (!one || (all && one->column != all->column)) return std::nullopt;
    if (!all) {
      all = std::move(one);
      continue;
    }
    all->when_true = conjunction ? intersect(all->when_true, one->when_true)
                                 : unite(all->when_true, one->when_true);
    all->when_false = conjunction ? unite(all->when_false, one->when_false)
                                  : intersect(all->when_false, one->when_false);
  }
  return all;
}

std::optional<TruthSets> truth_of(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kColumn:
      if (e.type != ValueType::kBoolean) return std::nullopt;
      return null_is_unknown(e.column, ValueSet::of(std::vector<Value>{Value(true)}));
    case ExpressionKind::kCompare: return comparison(e);
    case ExpressionKind::kIn: return list(e);
    case ExpressionKind::kBetween: return between(e);
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr: return logic(e);
    case ExpressionKind::kNot: {
      std::optional<TruthSets> sets = truth_of(e.operands[0]);
      if (sets) std::swap(sets->when_true, sets->when_false);
      return sets;
    }
    case ExpressionKind::kCall:
      if (e.function != query::Function::kIsNull || !is_usable_column(e.operands[0])) break;
      return two_valued(e.operands[0].column, ValueSet::of(std::vector<Value>{Value()}));
    default: break;
  }
  return std::nullopt;
}

}  // namespace

PushedConditions push_conditions(const Expression& predicate) {
  PushedConditions pushed;
  const bool several = predicate.kind == ExpressionKind::kAnd;
  const std::span<const Expression> conjuncts =
      several ? std::span<const Expression>(predicate.operands) : std::span(&predicate, 1);
  std::vector<Expression> rest;
  for (const Expression& conjunct : conjuncts) {
    std::optional<TruthSets> sets = truth_of(conjunct);
    if (!sets) {
      rest.push_back(conjunct);
      continue;
    }
    const auto same =
        std::ranges::find(pushed.conditions, sets->column, &table::ColumnCondition::column);
    if (same != pushed.conditions.end()) {
      same->values = intersect(same->values, sets->when_true);
    } else {
      pushed.conditions.push_back({.column = static_cast<table::ColumnIndex>(sets->column),
                                   .values = std::move(sets->when_true)});
    }
  }
  if (rest.size() == 1) {
    pushed.residual = std::make_unique<Expression>(std::move(rest[0]));
  } else if (!rest.empty()) {
    pushed.residual = std::make_unique<Expression>(predicate);
    pushed.residual->operands = std::move(rest);
  }
  return pushed;
}

}  // namespace moraine::client
