// Aggregates over all rows of a group. Internal to run.h.
#pragma once

#include <span>

#include "query/model/run.h"

namespace moraine::query {

// Null arguments are skipped; without others the result is null, and 0 for numbers of values.
Result<Value> aggregate(const AggregateCall& call, std::span<const Row* const> rows,
                        table::TextMemory& texts);

}  // namespace moraine::query
