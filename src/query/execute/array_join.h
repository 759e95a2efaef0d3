// The step of ARRAY JOIN: a row for each place of its lists. Internal to flow.h.
//
// Promise    Rows come in the order of the input and of the items. Items are read one batch at a
//            time, however long a list is.
// Threading  As Flow.
// Errors     Those of kernels and of function/list_items.h.
// Tests      array_join_test.cpp.
#pragma once

#include <memory>

#include "query/execute/flow_step.h"

namespace moraine::query {

// Requires: the step is an ArrayJoin; the node outlives the step.
std::unique_ptr<Flow::Step> make_array_join(const PlanNode& node);

}  // namespace moraine::query
