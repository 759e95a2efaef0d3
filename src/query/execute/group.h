// Grouper: hash aggregation of one part of a query, and of all parts together.
//
// Promise    Each distinct tuple of keys is one group; null equals null, -0.0 equals 0.0. Groups
//            are in the order in which they were first added. merge() continues as if the rows of
//            the other grouper had been added here. first(), and argmin() and argmax() of equal
//            values, take the value of the least position.
// Threading  One thread at a time.
// Limits     kGroupsMax groups; the caller bounds bytes().
// Errors     kInvalidArgument: `Comparison with NaN`; `Null values are forbidden in group key` with
//            totals; those of evaluate.h. kOverloaded: too many groups. kUnsupported: an aggregate.
// Tests      node/select_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "query/execute/aggregate.h"
#include "query/execute/group_table.h"
#include "query/execute/kernel.h"
#include "query/execute/row_store.h"
#include "query/plan/plan.h"

namespace moraine::query {

class Grouper {
 public:
  // The step outlives the grouper.
  explicit Grouper(const Group& group);

  // `position`: of the batch's first row, among all rows of the query.
  Result<void> add(const Batch& batch, const Selection& rows, std::uint64_t position);
  Result<void> merge(const Grouper& other);
  std::size_t groups() const { return table_->size(); }
  std::size_t bytes() const;

  // Calls `out` with keys ++ aggregates of the groups that pass `having`; appends the totals if
  // there are any.
  using Out = std::function<Result<void>(const Batch&, const Selection&)>;
  Result<void> finish(const Out& out, RowStore& totals);

 private:
  Result<void> prepare();
  Result<void> find(const std::vector<Column>& keys, const Selection& rows);
  Result<void> check_keys(const std::vector<Column>& keys, const Selection& rows) const;
  Result<void> add_totals(const std::vector<std::uint32_t>& counted, RowStore& totals) const;
  Batch view(std::size_t first, std::size_t count);

  const Group& group_;
  std::vector<KernelPtr> keys_;
  bool one_group_ = false;  // All keys are constants.
  bool prepared_ = false;   // There are aggregators.
  std::vector<std::vector<KernelPtr>> arguments_;
  std::vector<std::unique_ptr<Aggregator>> aggregators_;
  std::unique_ptr<GroupTable> table_;
  std::vector<Column> key_columns_;
  std::vector<Column> argument_columns_;
  std::vector<std::uint32_t> ids_;  // Of the selected rows.
  std::vector<std::unique_ptr<ColumnBuffer>> results_;
};

}  // namespace moraine::query
