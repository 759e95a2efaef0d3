// Moves conditions on the right table of a join to that table, so that its ranges are inferred from
// them and fewer rows are joined.
//
// Promise    The plan returns the same rows. Only conditions above inner joins are moved: a left
//            join makes rows of nulls that they would see.
// Threading  Pure. Call before add_ranges() (query/ranges/infer.h).
// Tests      node/select_test.cpp.
#pragma once

#include "query/plan/plan.h"

namespace moraine::query {

void move_conditions_into_joins(PlanNode& root);

}  // namespace moraine::query
