// Conditions of a predicate that readers of tables test: sets of values of single columns. Internal
// to select.h.
//
// Promise    A row passes the predicate if, and only if, its columns are in all the sets and the
//            rest is true; except that a comparison with NaN may leave out a row instead of
//            failing.
// Threading  Pure. Texts of the sets borrow those of the predicate.
// Tests      node/select_test.cpp (queries with and without pushdown).
#pragma once

#include <memory>
#include <vector>

#include "query/plan/expression.h"
#include "table/model/value_set.h"

namespace moraine::client {

struct PushedConditions {
  // `column`: of the input of the predicate.
  std::vector<table::ColumnCondition> conditions;
  std::unique_ptr<query::Expression> residual;  // Null: nothing is left to test.
};

PushedConditions push_conditions(const query::Expression& predicate);

}  // namespace moraine::client
