#include "query/execute/stage.h"

#include <algorithm>

namespace moraine::query {
namespace {

// Totals that came from the stage before are rows for a step that is not of their own query.
bool takes_totals_as_rows(const PlanNode& node) {
  return std::holds_alternative<Filter>(node.step) || std::holds_alternative<Join>(node.step) ||
         std::holds_alternative<ArrayJoin>(node.step) || std::holds_alternative<Group>(node.step);
}

}  // namespace

std::vector<Stage> stages_of(const PlanNode& root) {
  std::vector<const PlanNode*> chain;
  for (const PlanNode* node = &root;; node = &node->inputs[0]) {
    chain.push_back(node);
    if (node->inputs.empty()) break;
  }
  std::ranges::reverse(chain);

  std::vector<Stage> stages(1);
  stages[0].source = chain[0];
  stages[0].scan = std::get_if<Scan>(&chain[0]->step);
  bool totals = false;
  const auto close = [&](const PlanNode* end, const PlanNode* last) {
    stages.back().end = end;
    stages.emplace_back();
    stages.back().source = last;
  };
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const PlanNode* node = chain[i];
    Stage& stage = stages.back();
    const bool projected =
        !stage.steps.empty() && std::holds_alternative<Project>(stage.steps.back()->step);
    if (totals && projected && takes_totals_as_rows(*node)) close(nullptr, chain[i - 1]);
    if (takes_totals_as_rows(*node)) totals = false;
    if (const auto* group = std::get_if<Group>(&node->step)) {
      totals = group->totals != Totals::kNone;
      close(node, node);
    } else if (std::holds_alternative<Order>(node->step)) {
      const auto* limit = i + 1 < chain.size() ? std::get_if<Limit>(&chain[i + 1]->step) : nullptr;
      if (limit != nullptr) stages.back().limit = *limit;
      close(node, limit != nullptr ? chain[++i] : node);
    } else if (const auto* limit = std::get_if<Limit>(&node->step)) {
      stages.back().limit = *limit;
      close(node, node);
    } else {
      stages.back().steps.push_back(node);
    }
  }
  return stages;
}

}  // namespace moraine::query
