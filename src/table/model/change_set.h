// ChangeSet: the changes of one transaction to one table.
//
// Promise    Rows are checked against the schema when they are added; a rejected row leaves the set
//            unchanged. take() returns one change for each key, by ascending key. Changes of one
//            key are merged in the order of the calls: later values win, deltas are folded, a write
//            after a delete sets all other columns to null and leaves no tombstone, a delete after
//            a write is a delete.
//            Overwriting inserts set every unnamed column to null; unnamed aggregating columns, and
//            null deltas, change nothing.
//            Locks: writes lock the groups of the columns that they touch (overwriting ones: all),
//            deletes the primary one.
// Threading  One thread at a time.
// Limits     ChangeLimits of merged rows in each tablet, kRowWeightMax bytes of a row, kColumnsMax
//            values of one (limits.h), kKeyBytesMax (key.h).
// Errors     kInvalidArgument, naming the column.
// Tests      change_set_test.cpp.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/model/change.h"
#include "table/model/limits.h"
#include "table/model/row_layout.h"

namespace moraine::table {

struct InsertOptions {
  bool update = false;                   // Unnamed columns keep their values.
  bool aggregate = false;                // Values of aggregating columns are deltas.
  LockMode lock = LockMode::kExclusive;  // Or kSharedWrite.
};

// What a tablet accepts of one transaction, so that more is rejected immediately.
struct ChangeLimits {
  std::vector<std::string> pivots;  // Encoded, of the second and following tablets.
  std::size_t rows = kTransactionRowsMax;
  std::size_t bytes = ~std::size_t{0};  // As change_bytes() counts them.
};

class ChangeSet {
 public:
  explicit ChangeSet(std::shared_ptr<const RowLayout> layout, ValueRules rules = {},
                     ChangeLimits limits = {});

  const RowLayout& layout() const { return *layout_; }

  Result<void> insert(NamedRow row, InsertOptions options = {});
  Result<void> erase(NamedRow key);
  Result<void> erase(Key key);
  // Empty `locks`: the primary lock.
  Result<void> lock(NamedRow key, std::span<const std::string> locks, LockMode mode);
  Result<void> lock(Key key, std::span<const std::string> locks, LockMode mode);

  bool empty() const { return changes_.empty(); }
  std::size_t rows() const { return changes_.size(); }
  std::size_t bytes() const { return bytes_; }  // Approximate bytes of keys and images.
  // Returns the changes and empties the set.
  std::vector<RowChange> take();

 private:
  Result<void> read_row(NamedRow row, const InsertOptions& options);
  Result<void> check_required(bool update) const;
  void write_image(const InsertOptions& options, RowChange& change) const;
  Result<void> add_erase(std::string key);
  Result<void> add_lock(std::string key, std::span<const std::string> locks, LockMode mode);
  Result<void> add(RowChange change);
  // Totals for one tablet.
  struct Tally {
    std::size_t rows = 0;
    std::size_t bytes = 0;
  };
  Tally& tally_of(const std::string& key);
  Result<void> check_row_size(const RowChange& change) const;
  std::unexpected<Error> too_many_bytes(std::size_t bytes) const;
  Result<void> merge_into(RowChange& older, RowChange change, Tally& tally);

  std::shared_ptr<const RowLayout> layout_;
  ValueRules rules_;
  ChangeLimits limits_;
  std::vector<Tally> tallies_;                                // By tablet.
  std::deque<RowChange> changes_;                             // They do not move:
  absl::flat_hash_map<std::string_view, RowChange*> by_key_;  // by the key in the change.
  std::size_t bytes_ = 0;
  // The current row, by column.
  std::vector<Value> cells_;
  std::vector<std::uint8_t> given_;
  TextMemory memory_;
};

// Applies `newer` after `older`, of one key and one transaction; the result is in `older`.
void merge_change(RowChange& older, RowChange&& newer, const TableSchema& schema);

}  // namespace moraine::table
