// JoinTable: rows of the right side of a join, found by their keys.
//
// Promise    probe() gives every row with equal keys, in the order in which they were added. Keys
//            are equal as in plan.h: null equals null unless `null_equals_null` is false.
// Threading  build() once, then probe() on any thread.
// Limits     kRowsMax rows; the caller bounds bytes().
// Tests      node/select_test.cpp.
#pragma once

#include <vector>

#include "query/execute/group_table.h"
#include "query/execute/row_store.h"

namespace moraine::query {

class JoinTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kRowsMax = std::size_t{1} << 31;

  // `types`: of the rows; `key_types`: of their keys.
  JoinTable(std::span<const ValueType> types, std::span<const ValueType> key_types,
            bool null_equals_null)
      : rows_(types), keys_(key_types), null_equals_null_(null_equals_null) {}

  void add(std::span<const Column> columns, std::span<const Column> keys, const Selection& rows);
  void build();

  // first[i]: a row with the keys of selected row i, or kNone; next() continues.
  void probe(std::span<const Column> keys, const Selection& rows, std::uint64_t* hashes,
             std::uint32_t* first) const;
  std::uint32_t next(std::uint32_t row) const { return next_[row]; }
  const RowStore& rows() const { return rows_; }
  std::size_t bytes() const;

 private:
  struct Slot {
    std::uint32_t salt = 0;
    std::uint32_t row = kNone;  // The first with its keys.
  };
  bool has_null(std::span<const Column> keys, std::size_t row) const;

  RowStore rows_;
  RowStore keys_;
  const bool null_equals_null_;
  std::vector<Slot> slots_;          // A power of 2, at most half full.
  std::vector<std::uint32_t> next_;  // The next row with the same keys.
};

}  // namespace moraine::query
