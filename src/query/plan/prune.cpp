// Which columns a plan reads.

#include "base/invariant.h"
#include "query/plan/plan.h"

namespace moraine::query {
namespace {

using Positions = std::vector<std::size_t>;  // New position by old one.

Positions prune(PlanNode& node, const std::vector<bool>& needed);

Positions identity(std::size_t count) {
  Positions positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = i;
  return positions;
}

// Drops the columns that are not needed from both lists.
Positions keep_needed(const std::vector<bool>& needed, std::vector<PlanColumn>& columns,
                      std::vector<std::size_t>& sources) {
  Positions positions(needed.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    positions[i] = kept;
    columns[kept] = columns[i];
    sources[kept] = sources[i];
    ++kept;
  }
  columns.resize(kept);
  sources.resize(kept);
  return positions;
}

struct Pruner {
  PlanNode& node;
  const std::vector<bool>& needed;

  // Steps whose rows are those of their input.
  Positions through(const std::vector<Expression*>& expressions) {
    std::vector<bool> used = needed;
    for (const Expression* expression : expressions) mark_columns(*expression, used);
    Positions positions = prune(node.inputs[0], used);
    for (Expression* expression : expressions) move_columns(*expression, positions);
    node.columns = node.inputs[0].columns;
    return positions;
  }
  // Steps that compute their columns.
  Positions anew(const std::vector<Expression*>& expressions) {
    std::vector<bool> used(node.inputs[0].columns.size());
    for (const Expression* expression : expressions) mark_columns(*expression, used);
    const Positions positions = prune(node.inputs[0], used);
    for (Expression* expression : expressions) move_columns(*expression, positions);
    return identity(node.columns.size());
  }

  Positions operator()(Scan& scan) { return keep_needed(needed, node.columns, scan.columns); }
  Positions operator()(Filter& filter) { return through({&filter.predicate}); }
  Positions operator()(Limit&) { return through({}); }
  Positions operator()(Order& order) {
    std::vector<Expression*> keys;
    for (OrderKey& key : order.keys) keys.push_back(&key.expression);
    return through(keys);
  }
  Positions operator()(Project& project) {
    std::vector<Expression*> columns;
    for (Expression& column : project.columns) columns.push_back(&column);
    return anew(columns);
  }
  Positions operator()(Group& group) {
    std::vector<Expression*> inner;
    for (Expression& key : group.keys) inner.push_back(&key);
    for (AggregateCall& call : group.aggregates) {
      for (Expression& argument : call.arguments) inner.push_back(&argument);
    }
    return anew(inner);
  }
  Positions operator()(Join& join) {
    const auto split = static_cast<std::ptrdiff_t>(node.inputs[0].columns.size());
    std::vector<bool> left(needed.begin(), needed.begin() + split);
    std::vector<bool> right(needed.begin() + split, needed.end());
    for (const Expression& key : join.left_keys) mark_columns(key, left);
    for (const Expression& key : join.right_keys) mark_columns(key, right);
    Positions positions = prune(node.inputs[0], left);
    for (Expression& key : join.left_keys) move_columns(key, positions);
    const Positions moved = prune(node.inputs[1], right);
    for (Expression& key : join.right_keys) move_columns(key, moved);
    node.columns = node.inputs[0].columns;
    for (const std::size_t position : moved) positions.push_back(node.columns.size() + position);
    for (const PlanColumn& column : node.inputs[1].columns) node.columns.push_back(column);
    return positions;
  }
  Positions operator()(ArrayJoin& join) {
    const std::size_t split = node.inputs[0].columns.size();
    std::vector<bool> used = needed;
    if (join.predicate) mark_columns(*join.predicate, used);
    used.resize(split);
    for (const Expression& list : join.lists) mark_columns(list, used);
    Positions positions = prune(node.inputs[0], used);
    for (Expression& list : join.lists) move_columns(list, positions);
    // All items are kept: the longest list says how many rows there are.
    std::vector<PlanColumn> columns = node.inputs[0].columns;
    for (std::size_t i = split; i < node.columns.size(); ++i) {
      positions.push_back(columns.size());
      columns.push_back(std::move(node.columns[i]));
    }
    node.columns = std::move(columns);
    if (join.predicate) move_columns(*join.predicate, positions);
    return positions;
  }
};

Positions prune(PlanNode& node, const std::vector<bool>& needed) {
  INVARIANT(needed.size() == node.columns.size(), "{} columns of {}", needed.size(),
            node.columns.size());
  return std::visit(Pruner{node, needed}, node.step);
}

}  // namespace

void prune_columns(PlanNode& root) {
  prune(root, std::vector<bool>(root.columns.size(), true));
}

}  // namespace moraine::query
