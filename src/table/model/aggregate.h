// How deltas of aggregating columns are folded.
//
// Promise    fold(older, newer) is the value of a cell after applying the delta `newer` to `older`.
//            A null delta changes nothing, and a delta to null is the delta. Folding deltas first
//            and the value later gives the same (except for rounding of doubles), so parts may be
//            folded in any grouping that keeps their order.
//              sum       integers wrap
//              min, max  by the order of values
//              first     the older one
//              dict_sum  maps of numbers, added leaf by leaf at any depth; leaves that become zero
//                        are removed. A double on either side makes a double, else an int64 an
//                        int64. If one side has a map and the other a number at the same place,
//                        the map stays. A value that is not a map is replaced by the newer one.
//              xdelta    bases and patches of texts (xdelta.h)
// Threading  Pure.
// Tests      aggregate_test.cpp.
#pragma once

#include "base/result.h"
#include "moraine/schema.h"
#include "table/model/text_memory.h"

namespace moraine::table {

// The result borrows an operand or `memory`.
Value fold(Aggregate aggregate, const Value& older, const Value& newer, TextMemory& memory);

// Folds a column's parts, oldest first, and keeps no more than the last text that it made.
class Folding {
 public:
  explicit Folding(Aggregate aggregate) : aggregate_(aggregate) {}
  void add(const Value& newer);
  // The result borrows a part or `memory`.
  Value total(TextMemory& memory);

 private:
  Aggregate aggregate_;
  Value total_;
  TextMemory text_;  // What total_ may borrow.
};

// Checks that `yson` may be a value of a dict_sum column: a map of numbers and of such maps.
Result<void> check_dict(std::string_view yson);

}  // namespace moraine::table
