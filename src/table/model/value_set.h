// ValueSet: the values of a column that match a condition, as intervals: comparisons, IN lists,
// ranges, tests for null, and any combination of them on one column.
//
// Null is the least value, as in keys; NaN is the greatest double and equal to itself, as in
// compare(). A set says which cells match, so it expresses both dialects: SQL's `a < 5` does not
// contain null, that of the YT language does.
//
// Promise    Pure. Intervals are ascending, not empty, and do not touch.
// Limits     Texts are borrowed: they must outlive the set. The number of intervals is bounded by
//            the caller.
// Threading  Plain data.
// Tests      value_set_test.cpp.
#pragma once

#include <compare>
#include <vector>

#include "moraine/filter.h"
#include "moraine/value.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// A position between values: below or above all cells that are equal to `value`, or the end.
struct ValueCut {
  Value value;
  bool after = false;
  bool end = false;

  static ValueCut below(Value value) { return {.value = value}; }
  static ValueCut above(Value value) { return {.value = value, .after = true}; }
  static ValueCut at_end() { return {.value = {}, .end = true}; }
};
std::strong_ordering compare(const ValueCut& a, const ValueCut& b);

struct ValueInterval {
  ValueCut from;
  ValueCut to = ValueCut::at_end();

  // Contains one value.
  bool is_point() const;
};

class ValueSet {
 public:
  ValueSet() = default;  // Empty.
  static ValueSet all();
  static ValueSet all_but_null();
  // What fits() accepts (column_batch.h): null matches only kIsNull.
  static ValueSet matching(Filter::Op op, const Value& value);
  // An IN list; null, if it is in the list, matches.
  static ValueSet of(std::vector<Value> values);
  // Intervals in any order, overlapping or not.
  static ValueSet of(std::vector<ValueInterval> intervals);

  const std::vector<ValueInterval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  bool contains(const Value& value) const;

  friend ValueSet unite(const ValueSet& a, const ValueSet& b);
  friend ValueSet intersect(const ValueSet& a, const ValueSet& b);
  // All values that are not in the set, null included.
  friend ValueSet complement(const ValueSet& set);

 private:
  std::vector<ValueInterval> intervals_;
};

// `column` has a value of the set.
struct ColumnCondition {
  ColumnIndex column = 0;
  ValueSet values;
};

}  // namespace moraine::table
