// Sorter: ORDER BY of one part of a query, and of all parts together; only the first rows are kept.
//
// Promise    finish() gives the first rows of the order; rows with equal keys in any order.
// Threading  One thread at a time.
// Limits     Keeps at most about twice `rows_max` rows; the caller bounds bytes().
// Errors     kInvalidArgument `Comparison with NaN`; those of evaluate.h.
// Tests      node/select_test.cpp.
#pragma once

#include <vector>

#include "query/execute/kernel.h"
#include "query/execute/row_store.h"
#include "query/plan/plan.h"

namespace moraine::query {

class Sorter {
 public:
  // The step outlives the sorter. `types`: of the columns of its input.
  Sorter(const Order& order, std::span<const ValueType> types, std::uint64_t rows_max);

  Result<void> add(const Batch& batch, const Selection& rows);
  void merge(const Sorter& other);
  // Rows `offset` to rows_max - 1 of the order, without what only sorted them.
  void finish(std::uint64_t offset, RowStore& out);
  std::size_t rows() const { return rows_.rows(); }
  std::size_t bytes() const;

 private:
  struct Key {
    std::size_t column;  // In rows_.
    bool descending;
  };
  // Rows of rows_ are compared by this first; what is equal, by the keys themselves.
  std::uint64_t prefix_of(const Column& key, std::size_t row) const;
  bool is_before(std::uint32_t a, std::uint32_t b) const;
  // Of a row of a batch with the worst row that is kept.
  bool beats_bound(std::span<const Column> keys, std::size_t row) const;
  void keep_best();
  std::vector<std::uint32_t> best() const;

  const std::size_t width_;
  const std::uint64_t rows_max_;
  std::vector<KernelPtr> kernels_;  // Of keys that are no columns; null pointer: it is one.
  std::vector<Key> keys_;
  RowStore rows_;
  std::vector<std::uint64_t> prefixes_;
  bool bounded_ = false;
  std::uint64_t bound_prefix_ = 0;
  std::vector<Value> bound_;  // Texts are those of rows_.
  std::vector<Column> key_columns_;
  std::vector<Column> columns_;
  SelectionBuffer kept_;
};

}  // namespace moraine::query
