// Aggregator: the values of one aggregate function for all groups.
//
// Promise    Rows with a null argument are skipped. A group without others has null, or 0 as a
//            number of distinct values. What add() and merge() of numbers cost per row is a few
//            instructions and no allocation.
// Threading  One thread at a time.
// Errors     `Comparison with NaN` for min, max, argmin and argmax.
// Tests      node/select_test.cpp.
#pragma once

#include <memory>
#include <span>

#include "query/execute/row_store.h"
#include "query/plan/plan.h"

namespace moraine::query {

// Rows of a batch with the number of each row's group.
struct GroupedRows {
  Selection rows;
  const std::uint32_t* ids = nullptr;  // Of each selected row.
  // Of the batch's first row; its rows follow each other.
  std::uint64_t position = 0;
  bool one_group = false;  // All numbers are 0.
};

class Aggregator {
 public:
  virtual ~Aggregator() = default;
  // Groups 0 to count - 1 exist from now on.
  virtual void resize(std::size_t count) = 0;
  virtual Result<void> add(std::span<const Column> arguments, const GroupedRows& rows) = 0;
  // Adds what another of the same kind knows about its group i to group ids[i]; kNoGroup: not.
  virtual Result<void> merge(const Aggregator& other, std::span<const std::uint32_t> ids) = 0;
  // Nothing is added any more: before values().
  virtual Result<void> finish() { return {}; }
  // The values of groups first, first + 1, ...; valid until the next call.
  virtual Column values(std::size_t first, std::size_t count, ColumnBuffer& buffer) const = 0;
  virtual std::size_t bytes() const = 0;
};

inline constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

// kUnsupported: the function.
Result<std::unique_ptr<Aggregator>> make_aggregator(const AggregateCall& call);

// Internal to make_aggregator().
std::unique_ptr<Aggregator> make_sum(const AggregateCall& call);  // And avg.
std::unique_ptr<Aggregator> make_distinct(const AggregateCall& call);
std::unique_ptr<Aggregator> make_sketch(const AggregateCall& call);
std::unique_ptr<Aggregator> make_kept(const AggregateCall& call);  // array_agg, xdelta, dict_sum.

}  // namespace moraine::query
