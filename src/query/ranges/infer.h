// Key ranges of a condition: which rows can pass a filter, by their keys.
//
// Promise    Every row that passes lies in one of the ranges; they are sorted and disjoint.
//            `exact`: every row in them passes. Understood: relations of key columns with
//            constants, also as tuples; IN, BETWEEN, is_null, is_prefix, LIKE with a constant
//            prefix, boolean columns; AND, OR and NOT of those. Anything else is "any key".
//            Computed key columns (h = farm_hash(a) % 8) get the values that the other columns
//            leave them. Columns that are fixed extend the prefix, the first one with an interval
//            ends it.
// Limits     At most `ranges_max` ranges; past it, conditions on the last key columns are left to
//            the filter.
// Threading  Pure. Values of the ranges borrow the plan's texts.
// Tests      infer_test.cpp (cases of the dialect), infer_model_test.cpp (random conditions against
//            all keys of small domains).
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "query/plan/plan.h"
#include "table/model/key.h"

namespace moraine::query {

// The default of clients' range_expansion_limit.
inline constexpr std::size_t kRangesMax = 200'000;
// Values of a computed column that are looked at for one combination of conditions.
inline constexpr std::size_t kComputedValuesMax = 10'000;

struct RangeSet {
  std::vector<KeyRange> ranges;
  bool exact = false;
};

// `columns`: for each input column of the predicate its position in the schema.
RangeSet infer_ranges(const Expression& predicate, std::span<const std::size_t> columns,
                      const TableSchema& schema, table::TextMemory& texts,
                      std::size_t ranges_max = kRangesMax);
// Sets the ranges of each scan that has a filter right above it.
void add_ranges(Plan& plan, std::size_t ranges_max = kRangesMax);

// As bounds of encoded keys, which scans of tables take.
table::KeyBounds encode_range(const KeyRange& range);
// Does a scan of the plan read its whole table? Tables that joins look up by key do not count.
bool scans_whole_table(const PlanNode& root);
// For allow_full_scan=%false. kInvalidArgument: `Primary table key is not used in the where
// clause`.
Result<void> refuse_full_scan(const PlanNode& root);

}  // namespace moraine::query
