// Joins: a lookup of each row's key in another table, or in the rows of a subquery.

#include <fmt/format.h>

#include <algorithm>

#include "query/plan/bind_query.h"
#include "query/plan/types.h"

namespace moraine::query {
namespace {

// Marks the columns that an expression of a computed column names.
void mark_references(const Node& node, const TableSchema& schema, std::vector<bool>& used) {
  if (node.kind == NodeKind::kReference) {
    if (const auto column = schema.find(node.text)) used[*column] = true;
  }
  for (const Node& operand : node.operands) mark_references(operand, schema, used);
}

// Is this key column computed from columns that are known?
bool is_computed_from(const ColumnSchema& column, const TableSchema& schema,
                      const std::vector<bool>& known) {
  if (column.expression.empty()) return false;
  const auto node = parse_expression(column.expression);
  if (!node) return false;
  std::vector<bool> used(schema.columns.size());
  mark_references(*node, schema, used);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] && !known[i]) return false;
  }
  return true;
}

}  // namespace

std::size_t known_key_prefix(const TableSchema& schema, const std::vector<bool>& known) {
  std::size_t prefix = 0;
  while (prefix < schema.key_count() &&
         (known[prefix] || is_computed_from(schema.columns[prefix], schema, known))) {
    ++prefix;
  }
  return prefix;
}

Result<void> QueryBinder::join(const JoinClause& clause) {
  const Node where = make_node(NodeKind::kNull, clause.at);
  if (!clause.arrays.empty()) return array_join(clause);
  TRY(PlanNode right, source(clause.source));
  Scope right_scope;
  right_scope.tables.push_back({.alias = clause.source.alias,
                                .columns = right.columns,
                                .hidden = std::vector<bool>(right.columns.size())});
  Join join;
  join.left = clause.left;
  join.null_equals_null = !binding_.options.canonical_null_relations;
  if (!clause.columns.empty()) {
    TRY_VOID(using_keys(clause, join, right_scope));
  } else {
    TRY_VOID(join_keys(clause, join, right_scope, where));
  }
  if (std::holds_alternative<Scan>(right.step)) {
    TRY_VOID(check_key_prefix(clause, right, join));
  }
  if (clause.predicate) {
    // It sees the columns of USING, too: those of the right table.
    Scope all_columns = right_scope;
    all_columns.tables[0].hidden.assign(right.columns.size(), false);
    ExpressionBinder binder(binding_, all_columns, /*grouped=*/false);
    Filter filter;
    TRY(filter.predicate, binder.bind_predicate(*clause.predicate, "the predicate of JOIN"));
    right = add_step(std::move(right), std::move(filter));
  }
  add_table(right, clause.source.alias);
  scope_.tables.back().hidden = right_scope.tables[0].hidden;
  Joined joined{.step = std::move(join), .right = {}, .columns = right.columns};
  joined.right.push_back(std::move(right));
  joins_.push_back(std::move(joined));
  return {};
}

Result<void> QueryBinder::using_keys(const JoinClause& clause, Join& join, Scope& right) {
  for (const Node& column : clause.columns) {
    std::optional<Expression> left;
    for (const ScopeTable& table : scope_.tables) {
      const auto found = std::ranges::find(table.columns, column.text, &PlanColumn::name);
      if (found == table.columns.end() || left) continue;
      const auto at = static_cast<std::size_t>(found - table.columns.begin());
      left = make_column(table.first + at, found->type);
    }
    ScopeTable& table = right.tables[0];
    const auto found = std::ranges::find(table.columns, column.text, &PlanColumn::name);
    if (!left || found == table.columns.end()) {
      return binding_.refuse(column, fmt::format("Undefined reference \"{}\"", column.text));
    }
    if (left->type != found->type || left->type == ValueType::kAny) {
      return binding_.refuse(
          column, fmt::format("Cannot join column \"{}\" of {}{} type{}", column.text,
                              left->type == ValueType::kAny ? "non" : "different ",
                              left->type == ValueType::kAny ? "simple" : to_string(left->type),
                              left->type == ValueType::kAny ? "" : " and other"));
    }
    const auto at = static_cast<std::size_t>(found - table.columns.begin());
    table.hidden[at] = true;
    join.left_keys.push_back(std::move(*left));
    join.right_keys.push_back(make_column(at, found->type));
  }
  return {};
}

Result<void> QueryBinder::join_keys(const JoinClause& clause, Join& join, Scope& right,
                                    const Node& where) {
  const auto bind_sides = [&](const Node& left_node, const Node& right_node) -> Result<void> {
    TRY(join.left_keys, ExpressionBinder(binding_, scope_, false).bind_tuple(left_node));
    TRY(join.right_keys, ExpressionBinder(binding_, right, false).bind_tuple(right_node));
    return {};
  };
  auto bound = bind_sides(clause.sides[0], clause.sides[1]);
  if (!bound) {
    // The sides may be the other way round; if not, the first error is the one to know.
    if (!bind_sides(clause.sides[1], clause.sides[0])) return bound;
  }
  if (join.left_keys.size() != join.right_keys.size()) {
    return binding_.refuse(where, "Tuples of the ON clause have different sizes");
  }
  for (std::size_t i = 0; i < join.left_keys.size(); ++i) {
    Expression* const sides[] = {&join.left_keys[i], &join.right_keys[i]};
    auto type = unify(sides);
    if (!type) {
      return binding_.refuse(where, type.error().context, type.error().code);
    }
    if (*type == ValueType::kAny) {
      return binding_.refuse(where, "Cannot join columns of nonsimple type");
    }
  }
  return {};
}

Result<void> QueryBinder::check_key_prefix(const JoinClause& clause, const PlanNode& right,
                                           Join& join) const {
  const TableSchema& schema = *std::get<Scan>(right.step).schema;
  std::vector<bool> known(schema.columns.size());
  for (const Expression& key : join.right_keys) {
    if (key.kind == ExpressionKind::kColumn) known[key.column] = true;
  }
  join.key_prefix = known_key_prefix(schema, known);
  if (join.key_prefix > 0 || binding_.options.allow_join_without_index) return {};
  return binding_.refuse(make_node(NodeKind::kNull, clause.at),
                         "Foreign table key is not used in the join clause");
}

}  // namespace moraine::query
