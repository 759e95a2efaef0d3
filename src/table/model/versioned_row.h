// VersionedRow: everything that a store has for one key: values with their timestamps, and when the
// row was written and deleted.
//
// Invariants Values are ordered by column, then newest first; a column has at most one value of a
//            timestamp. Timestamps of writes and deletes are newest first, without repetition.
//            Every value's timestamp is among write_timestamps. A write that names no columns is
//            only in write_timestamps.
// Threading  A view: it lives as long as the memory that it was made from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "moraine/value.h"
#include "table/model/scan_statistics.h"
#include "table/model/timestamp.h"

namespace moraine::table {

using ColumnIndex = std::uint16_t;  // Position in the table's schema.

struct VersionedValue {
  Value value;
  Timestamp timestamp = 0;
  ColumnIndex column = 0;
  bool aggregate = false;  // A delta, to be folded with older values.
  // The text of `value` is a HunkRef (chunk/hunk.h), not the bytes themselves.
  bool hunk = false;
};

// The column's value at `newest` represents several parts, down to `oldest` (fold_row.h).
struct FoldedRange {
  ColumnIndex column = 0;
  Timestamp newest = 0;
  Timestamp oldest = 0;
};

struct VersionedRow {
  ByteSpan key;  // Encoded (key.h).
  std::span<const VersionedValue> values;
  std::span<const Timestamp> write_timestamps;
  std::span<const Timestamp> delete_timestamps;
  std::span<const FoldedRange> folded{};
};

// Reusable memory for one row.
struct RowBuilder {
  ByteSpan key;
  std::vector<VersionedValue> values;
  std::vector<Timestamp> write_timestamps;
  std::vector<Timestamp> delete_timestamps;
  std::vector<FoldedRange> folded;

  void clear() {
    key = {};
    values.clear();
    write_timestamps.clear();
    delete_timestamps.clear();
    folded.clear();
  }
  bool empty() const { return write_timestamps.empty() && delete_timestamps.empty(); }
  VersionedRow row() const { return {key, values, write_timestamps, delete_timestamps, folded}; }
};

// The value columns that a read requests. A set bit: wanted.
class ColumnSet {
 public:
  static ColumnSet all(std::size_t columns) {
    ColumnSet set;
    set.bits_.assign((columns + 63) / 64, ~std::uint64_t{0});
    return set;
  }
  static ColumnSet none(std::size_t columns) {
    ColumnSet set;
    set.bits_.assign((columns + 63) / 64, 0);
    return set;
  }
  void add(ColumnIndex column) { bits_[column / 64] |= std::uint64_t{1} << (column % 64); }
  bool has(ColumnIndex column) const { return (bits_[column / 64] >> (column % 64) & 1) != 0; }
  // Is a column from this one on in the set?
  bool any_from(ColumnIndex column) const {
    if (bits_[column / 64] >> (column % 64) != 0) return true;
    for (std::size_t i = column / 64 + 1; i < bits_.size(); ++i) {
      if (bits_[i] != 0) return true;
    }
    return false;
  }

 private:
  std::vector<std::uint64_t> bits_;
};

// What a read requests of each row. Stores skip versions newer than `timestamp`.
struct ReadSpec {
  Timestamp timestamp = kAsyncLastCommitted;
  // False: for each column only what determines its value at `timestamp` is needed (the newest
  // value, or the deltas down to the newest full one), and only the newest of the row's timestamps.
  bool all_versions = false;
  const ColumnSet* columns = nullptr;  // Null: all.
  // Deltas may come folded (fold_row.h). Not for reads with a retention timestamp.
  bool may_fold = false;
  bool use_key_filter = true;            // False: chunks are searched without their filters.
  ScanStatistics* statistics = nullptr;  // Cursors count blocks there. May be null.
};

}  // namespace moraine::table
