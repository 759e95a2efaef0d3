// Stages: a plan cut where rows have to wait for each other.
//
//   stage = source { Filter | Join | ArrayJoin | Project } end
//   source = Scan, or the rows of the stage before
//   end    = Group, Order with its Limit, Limit, or none for the last stage
//
// Promise    Pure. The stages of a plan follow each other along its left inputs; the right input of
//            a join is a plan of its own.
// Threading  Plain data, borrows the plan.
// Tests      node/select_test.cpp.
#pragma once

#include <vector>

#include "query/execute/row_store.h"
#include "query/plan/plan.h"

namespace moraine::query {

struct Stage {
  const PlanNode* source = nullptr;  // The Scan, or the end of the stage before.
  const Scan* scan = nullptr;        // Null: the source is a stage.
  std::vector<const PlanNode*> steps;
  const PlanNode* end = nullptr;  // Null: none.
  Limit limit{.offset = 0, .limit = ~std::uint64_t{0}};

  // The node whose columns its end takes.
  const PlanNode& before_end() const { return steps.empty() ? *source : *steps.back(); }
  // Rows of the end, before the offset: at most so many are needed.
  std::uint64_t rows_max() const {
    const std::uint64_t sum = limit.offset + limit.limit;
    return sum < limit.limit ? ~std::uint64_t{0} : sum;
  }
};

// Not empty; the last one has no end.
std::vector<Stage> stages_of(const PlanNode& root);

// What a stage leaves for the next one. The totals are apart: Order puts them first, Limit does not
// count them.
struct Relation {
  RowStore rows;
  RowStore totals;  // At most one row.
  bool totals_first = false;
};

}  // namespace moraine::query
