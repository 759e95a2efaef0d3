// Values of computed key columns that conditions on other columns leave. Internal to infer.h.
#pragma once

#include "moraine/schema.h"
#include "query/plan/expression.h"
#include "query/ranges/key_set.h"
#include "table/model/text_memory.h"

namespace moraine::query {

// The set without keys that no row of the table has: for each combination of conditions on the
// columns that a computed column is computed from, that column gets its possible values. They are
//   - the result, where each argument is one value;
//   - the results for all values of integer intervals, stepping from quotient to quotient where a
//     column is only divided (`a / 100`);
//   - 0 to n - 1 and null for `expression % n`: from -(n - 1) on if it is signed.
// The cheapest is taken. Without one, past kComputedValuesMax (infer.h) values for one combination
// of conditions, or past `ranges_max` in all, the set stays as it is; so it does where the next
// key column has no condition. A column that cannot be compiled is left alone.
KeySet restrict_computed(KeySet keys, const TableSchema& schema, KeySetBuilder& builder,
                         table::TextMemory& texts, std::size_t ranges_max);

}  // namespace moraine::query
