#include "query/execute/join_conditions.h"

#include <algorithm>

namespace moraine::query {
namespace {

std::vector<Expression> conjuncts_of(Expression predicate) {
  if (predicate.kind == ExpressionKind::kAnd) return std::move(predicate.operands);
  std::vector<Expression> one;
  one.push_back(std::move(predicate));
  return one;
}

Expression conjunction_of(std::vector<Expression> conjuncts) {
  if (conjuncts.size() == 1) return std::move(conjuncts[0]);
  Expression all;
  all.kind = ExpressionKind::kAnd;
  all.type = ValueType::kBoolean;
  all.operands = std::move(conjuncts);
  return all;
}

void add_condition(PlanNode& node, Expression condition) {
  if (auto* filter = std::get_if<Filter>(&node.step)) {
    std::vector<Expression> conjuncts = conjuncts_of(std::move(filter->predicate));
    conjuncts.push_back(std::move(condition));
    filter->predicate = conjunction_of(std::move(conjuncts));
    return;
  }
  PlanNode above;
  above.step = Filter{.predicate = std::move(condition)};
  above.columns = node.columns;
  above.inputs.push_back(std::move(node));
  node = std::move(above);
}

// True: it was moved.
bool move_down(PlanNode& node, Expression& condition) {
  for (PlanNode* at = &node; std::holds_alternative<Join>(at->step); at = &at->inputs[0]) {
    const std::size_t left = at->inputs[0].columns.size();
    std::vector<bool> used(at->columns.size());
    mark_columns(condition, used);
    const auto middle = used.begin() + static_cast<std::ptrdiff_t>(left);
    if (std::find(middle, used.end(), true) == used.end()) continue;  // Of a table below.
    const bool both = std::find(used.begin(), middle, true) != middle;
    if (both || std::get<Join>(at->step).left) return false;
    std::vector<std::size_t> positions(used.size());
    for (std::size_t i = left; i < used.size(); ++i) positions[i] = i - left;
    move_columns(condition, positions);
    add_condition(at->inputs[1], std::move(condition));
    return true;
  }
  return false;
}

}  // namespace

void move_conditions_into_joins(PlanNode& node) {
  for (PlanNode& input : node.inputs) move_conditions_into_joins(input);
  auto* filter = std::get_if<Filter>(&node.step);
  if (filter == nullptr || !std::holds_alternative<Join>(node.inputs[0].step)) return;
  std::vector<Expression> rest;
  for (Expression& conjunct : conjuncts_of(std::move(filter->predicate))) {
    if (!move_down(node.inputs[0], conjunct)) rest.push_back(std::move(conjunct));
  }
  if (rest.empty()) {
    PlanNode below = std::move(node.inputs[0]);
    node = std::move(below);
    return;
  }
  filter->predicate = conjunction_of(std::move(rest));
}

}  // namespace moraine::query
