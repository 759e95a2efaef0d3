// Makes a failing query and its tables smaller.
//
// Promise    The result fails as `fails` says. Clauses, operands and rows are taken away as long as
//            that holds.
// Limits     `runs_max` calls of `fails`.
// Threading  One thread.
#pragma once

#include <functional>

#include "sim/query/random_query.h"

namespace moraine::sim {

inline constexpr std::size_t kShrinkRunsMax = 4000;

using Fails = std::function<bool(const QueryTables&, const QueryCase&)>;

void shrink(QueryTables& tables, QueryCase& query, const Fails& fails,
            std::size_t runs_max = kShrinkRunsMax);

}  // namespace moraine::sim
