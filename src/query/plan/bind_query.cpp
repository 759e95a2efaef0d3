#include "query/plan/bind_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "query/plan/types.h"
#include "query/syntax/format.h"

namespace moraine::query {
namespace {

void collect_paths(const SelectQuery& query, std::vector<std::string>& paths);

void collect_paths(const Source& source, std::vector<std::string>& paths) {
  if (!source.path.empty()) paths.push_back(source.path);
  for (const SelectQuery& subquery : source.subquery) collect_paths(subquery, paths);
}

void collect_paths(const SelectQuery& query, std::vector<std::string>& paths) {
  collect_paths(query.from, paths);
  for (const JoinClause& join : query.joins) collect_paths(join.source, paths);
}

// Takes the conjuncts that use columns below `limit` only.
std::vector<Expression> take_conjuncts_below(Expression& predicate, std::size_t columns,
                                             std::size_t limit) {
  std::vector<Expression> all;
  if (predicate.kind == ExpressionKind::kAnd) {
    all = std::move(predicate.operands);
  } else {
    all.push_back(std::move(predicate));
  }
  std::vector<Expression> below;
  std::vector<Expression> rest;
  for (Expression& conjunct : all) {
    std::vector<bool> used(columns);
    mark_columns(conjunct, used);
    const bool is_below = std::find(used.begin() + static_cast<std::ptrdiff_t>(limit), used.end(),
                                    true) == used.end();
    (is_below ? below : rest).push_back(std::move(conjunct));
  }
  predicate = Expression();
  predicate.kind = ExpressionKind::kAnd;
  predicate.type = ValueType::kBoolean;
  predicate.operands = std::move(rest);
  return below;
}

PlanNode add_filter(PlanNode input, std::vector<Expression> conjuncts) {
  if (conjuncts.empty()) return input;
  Filter filter;
  if (conjuncts.size() == 1) {
    filter.predicate = std::move(conjuncts[0]);
  } else {
    filter.predicate.kind = ExpressionKind::kAnd;
    filter.predicate.type = ValueType::kBoolean;
    filter.predicate.operands = std::move(conjuncts);
  }
  return add_step(std::move(input), std::move(filter));
}

}  // namespace

PlanNode add_step(PlanNode input, decltype(PlanNode::step) step) {
  PlanNode node;
  node.step = std::move(step);
  node.columns = input.columns;
  node.inputs.push_back(std::move(input));
  return node;
}

std::unexpected<Error> QueryBinder::refuse(std::string_view what, Errc code) const {
  return binding_.refuse(make_node(NodeKind::kNull, query_.at), what, code);
}

Result<PlanNode> QueryBinder::run() {
  TRY_VOID(check_clauses());
  TRY_VOID(collect_all_aliases());
  TRY(PlanNode node, rows());
  const bool grouped = !query_.group_by.empty();
  Group group;
  if (grouped) {
    TRY(group, group_keys());
    TRY_VOID(having(group));
  }
  TRY(Order sorting, order(grouped));
  std::vector<PlanColumn> columns;
  TRY(Project project, projections(grouped, columns));
  if (grouped) {
    // Aggregates are known once all clauses are bound.
    group.aggregates = std::move(scope_.group->aggregates);
    std::vector<PlanColumn> row;
    for (std::size_t i = 0; i < group.keys.size(); ++i) {
      row.push_back({.name = scope_.group->names[i], .type = group.keys[i].type});
    }
    for (std::size_t i = 0; i < group.aggregates.size(); ++i) {
      row.push_back({.name = output_name(scope_.group->aggregate_nodes[i]),
                     .type = group.aggregates[i].type});
    }
    node = add_step(std::move(node), std::move(group));
    node.columns = std::move(row);
  }
  if (!sorting.keys.empty()) node = add_step(std::move(node), std::move(sorting));
  if (query_.limit) {
    node = add_step(std::move(node),
                    Limit{.offset = query_.offset.value_or(0), .limit = *query_.limit});
  }
  node = add_step(std::move(node), std::move(project));
  node.columns = std::move(columns);
  return node;
}

Result<void> QueryBinder::check_clauses() const {
  if (!query_.limit && !query_.order_by.empty()) return refuse("ORDER BY used without LIMIT");
  if (!query_.limit && query_.offset) return refuse("OFFSET used without LIMIT");
  if (query_.having && query_.order_by.empty()) {
    if (query_.offset) return refuse("HAVING with OFFSET is not allowed");
    if (query_.limit) return refuse("HAVING with LIMIT is not allowed");
  }
  if (query_.projections.empty() && !query_.group_by.empty()) {
    return refuse("SELECT * is not allowed with GROUP BY");
  }
  if (!query_.from.index_path.empty()) {
    return refuse("WITH INDEX is not supported yet", Errc::kUnsupported);
  }
  return {};
}

Result<void> QueryBinder::collect_all_aliases() {
  for (const Node& node : query_.projections) {
    TRY_VOID(collect_aliases(binding_, node, scope_));
  }
  if (query_.where) {
    TRY_VOID(collect_aliases(binding_, *query_.where, scope_));
  }
  for (const Node& node : query_.group_by) {
    TRY_VOID(collect_aliases(binding_, node, scope_));
  }
  if (query_.having) {
    TRY_VOID(collect_aliases(binding_, *query_.having, scope_));
  }
  for (const OrderItem& item : query_.order_by) {
    TRY_VOID(collect_aliases(binding_, item.node, scope_));
  }
  return {};
}

Result<PlanNode> QueryBinder::source(const Source& source) {
  if (!source.arrays.empty()) {
    return binding_.refuse(make_node(NodeKind::kNull, source.at),
                           "FROM with arrays is not supported yet", Errc::kUnsupported);
  }
  if (source.subquery.empty()) return table(source);
  return QueryBinder(binding_, schemas_, source.subquery[0]).run();
}

Result<PlanNode> QueryBinder::table(const Source& source) {
  const auto found = schemas_.find(source.path);
  if (found == schemas_.end()) {
    return binding_.refuse(make_node(NodeKind::kNull, source.at),
                           fmt::format("table \"{}\" does not exist", source.path),
                           Errc::kNotFound);
  }
  PlanNode node;
  Scan scan;
  scan.path = source.path;
  scan.schema = found->second;
  for (std::size_t i = 0; i < scan.schema->columns.size(); ++i) {
    const ColumnSchema& column = scan.schema->columns[i];
    scan.columns.push_back(i);
    node.columns.push_back({.name = column.name, .type = physical_type(column.type)});
    if (!column.type_v3.empty()) {
      node.columns.back().logical =
          std::make_shared<const table::LogicalType>(table::stored_part(column));
    }
  }
  node.step = std::move(scan);
  return node;
}

void QueryBinder::add_table(const PlanNode& node, std::string_view alias) {
  ScopeTable table;
  table.alias = alias;
  table.first = scope_.column_count();
  table.columns = node.columns;
  table.hidden.resize(node.columns.size());
  scope_.tables.push_back(std::move(table));
}

Result<PlanNode> QueryBinder::rows() {
  TRY(PlanNode node, source(query_.from));
  const std::size_t first_columns = node.columns.size();
  add_table(node, query_.from.alias);
  for (const JoinClause& clause : query_.joins) {
    TRY_VOID(join(clause));
  }
  std::vector<Expression> above;
  if (query_.where) {
    ExpressionBinder binder(binding_, scope_, /*grouped=*/false);
    TRY(Expression predicate, binder.bind_predicate(*query_.where, "WHERE"));
    node = add_filter(std::move(node),
                      take_conjuncts_below(predicate, scope_.column_count(), first_columns));
    above = std::move(predicate.operands);
  }
  for (Joined& joined : joins_) {
    node = add_step(std::move(node), std::move(joined.step));
    for (PlanNode& right : joined.right) node.inputs.push_back(std::move(right));
    node.columns.insert(node.columns.end(), joined.columns.begin(), joined.columns.end());
  }
  return add_filter(std::move(node), std::move(above));
}

Result<Group> QueryBinder::group_keys() {
  Group group;
  group.totals = query_.totals;
  GroupScope keys;
  for (const Node& key : query_.group_by) {
    const Node* meaning = &key;
    if (key.kind == NodeKind::kReference && key.table.empty()) {
      const auto alias = scope_.aliases.find(key.text);
      if (alias != scope_.aliases.end() && alias->second != &key) meaning = alias->second;
    }
    if (binding_.options.syntax_version >= 3 && key.kind == NodeKind::kInt64) {
      const auto number = key.word;
      if (number == 0 || number > query_.projections.size()) {
        return binding_.refuse(key, fmt::format("there is no projection number {}", number));
      }
      meaning = &query_.projections[number - 1];
    }
    ExpressionBinder binder(binding_, scope_, /*grouped=*/false);
    // With its alias as a name, so that the alias may stand in itself: `a % 2 as a`.
    Node named = *meaning;
    if (named.alias.empty()) named.alias = key.alias;
    TRY(Expression bound, binder.bind_aliased(named));
    keys.logical.push_back(bound.logical);
    if (bound.type == ValueType::kAny) {
      TRY(bound, binder.canonical(key, std::move(bound)));
    }
    keys.keys.push_back(meaning);
    keys.names.push_back(output_name(key, binding_.options.syntax_version));
    keys.types.push_back(bound.type);
    group.keys.push_back(std::move(bound));
  }
  group.key_prefix = grouped_key_prefix(group);
  scope_.group = std::move(keys);
  return group;
}

std::size_t QueryBinder::grouped_key_prefix(const Group& group) const {
  const auto table = schemas_.find(query_.from.path);
  if (table == schemas_.end()) return 0;
  std::vector<bool> known(table->second->columns.size());
  for (const Expression& key : group.keys) {
    // The columns of the first table come first.
    if (key.kind == ExpressionKind::kColumn && key.column < known.size()) known[key.column] = true;
  }
  return known_key_prefix(*table->second, known);
}

Result<void> QueryBinder::having(Group& group) {
  if (!query_.having) return {};
  ExpressionBinder binder(binding_, scope_, /*grouped=*/true);
  TRY(group.having, binder.bind_predicate(*query_.having, "HAVING"));
  return {};
}

Result<Order> QueryBinder::order(bool grouped) {
  Order order;
  for (const OrderItem& item : query_.order_by) {
    const Node* node = &item.node;
    if (binding_.options.syntax_version >= 3 && node->kind == NodeKind::kInt64) {
      if (node->word == 0 || node->word > query_.projections.size()) {
        return binding_.refuse(*node, fmt::format("there is no projection number {}", node->word));
      }
      node = &query_.projections[node->word - 1];
    }
    ExpressionBinder binder(binding_, scope_, grouped);
    TRY(Expression key, binder.bind_aliased(*node));
    if (key.type == ValueType::kAny) {
      TRY(key, binder.ordered(*node, std::move(key)));
    }
    order.keys.push_back({.expression = std::move(key), .descending = item.descending});
  }
  return order;
}

Result<void> QueryBinder::add_column(const Node* node, std::string name, Expression expression,
                                     Project& project, std::vector<PlanColumn>& columns) const {
  if (std::ranges::find(columns, name, &PlanColumn::name) != columns.end()) {
    return binding_.refuse(node == nullptr ? make_node(NodeKind::kNull, query_.at) : *node,
                           fmt::format("Column \"{}\" occurs twice in the result", name));
  }
  columns.push_back(
      {.name = std::move(name), .type = expression.type, .logical = expression.logical});
  project.columns.push_back(std::move(expression));
  return {};
}

Result<Project> QueryBinder::projections(bool grouped, std::vector<PlanColumn>& columns) {
  Project project;
  for (const Node& node : query_.projections) {
    ExpressionBinder binder(binding_, scope_, grouped);
    TRY(Expression value, binder.bind_aliased(node));
    TRY_VOID(add_column(&node, output_name(node, binding_.options.syntax_version), std::move(value),
                        project, columns));
  }
  if (!query_.projections.empty()) return project;
  for (const ScopeTable& table : scope_.tables) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.hidden[i]) continue;
      const PlanColumn& column = table.columns[i];
      Expression value = make_column(table.first + i, column.type);
      value.logical = column.logical;
      TRY_VOID(add_column(nullptr,
                          table.alias.empty() ? column.name : table.alias + "." + column.name,
                          std::move(value), project, columns));
    }
  }
  return project;
}

std::vector<std::string> table_paths(const SelectQuery& query) {
  std::vector<std::string> paths;
  collect_paths(query, paths);
  std::ranges::sort(paths);
  const auto repeated = std::ranges::unique(paths);
  paths.erase(repeated.begin(), repeated.end());
  return paths;
}

Result<Plan> bind_query(const SelectQuery& query, std::string_view text, const Schemas& schemas,
                        const BindOptions& options) {
  Plan plan;
  plan.texts = std::make_shared<table::TextMemory>();
  Binding binding{.text = text, .options = options, .texts = *plan.texts};
  TRY(plan.root, QueryBinder(binding, schemas, query).run());
  prune_columns(plan.root);
  return plan;
}

Result<Plan> plan_query(std::string_view text, const Schemas& schemas, const BindOptions& options) {
  TRY(const SelectQuery query, parse_query(text, {.syntax_version = options.syntax_version}));
  return bind_query(query, text, schemas, options);
}

Result<Expression> bind_expression(const Node& node, std::string_view text,
                                   std::span<const PlanColumn> columns, table::TextMemory& texts,
                                   const BindOptions& options) {
  Binding binding{.text = text, .options = options, .texts = texts};
  Scope scope;
  ScopeTable table;
  table.columns.assign(columns.begin(), columns.end());
  table.hidden.resize(columns.size());
  scope.tables.push_back(std::move(table));
  TRY_VOID(collect_aliases(binding, node, scope));
  return ExpressionBinder(binding, scope, /*grouped=*/false).bind(node);
}

}  // namespace moraine::query
